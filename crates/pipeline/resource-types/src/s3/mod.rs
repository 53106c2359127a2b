//! `s3`: objects of a bucket, by a version in their path or by the versions that the bucket keeps.

mod actions;
mod bucket;
mod order;
mod settings;
mod unpack;

pub(crate) use self::{
    actions::{check, fetch, push},
    bucket::{Access, Bucket},
    settings::FORMS,
};
