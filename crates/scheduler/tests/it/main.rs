//! The scheduler by its rules: tables of cases, random worlds against a slow solver, and sizes.

mod brute;
mod cases;
mod checks;
mod events;
mod graph;
mod passes;
mod property;
mod scale;
mod view;
mod world;
