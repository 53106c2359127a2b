//! The server's clock is set, forward and back, while builds run and between two starts.
//!
//! Only the server sees it: a small library in front of libc adds what a file says to the time.

use std::{fs, path::Path, process::Command};

use airside_scenarios::{
    Counter, ServerOptions,
    pipelines::{job, task},
};

const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, at);
    const char *path = getenv("TEST_CLOCK");
    FILE *file = id == CLOCK_REALTIME && path ? fopen(path, "r") : NULL;
    long offset = 0;
    if (file && fscanf(file, "%ld", &offset) == 1) at->tv_sec += offset;
    if (file) fclose(file);
    return result;
}
"#;

/// The library, made in this folder.
fn library(folder: &Path) -> String {
    let (source, library) = (folder.join("clock.c"), folder.join("clock.so"));
    fs::write(&source, CLOCK).unwrap();
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source);
    assert!(compiler.arg("-ldl").status().expect("cc runs").success());
    library.display().to_string()
}

const HOURS: i64 = 3600;

#[test]
fn builds_end_right_whatever_the_clock_does() {
    let folder = tempfile::tempdir().unwrap();
    let clock = folder.path().join("offset");
    let set = |hours: i64| {
        let scratch = clock.with_extension("new");
        fs::write(&scratch, (hours * HOURS).to_string()).unwrap();
        fs::rename(scratch, &clock).unwrap();
    };
    set(0);
    let counter = Counter::start();
    let mut server = ServerOptions::new()
        .env("LD_PRELOAD", &library(folder.path()))
        .env("TEST_CLOCK", clock.to_str().unwrap())
        .start();
    let fly = server.fly();
    let names = ["one", "two", "three"];
    let steps = names.map(|name| {
        let step = task(
            name,
            "",
            &format!("{}\necho said {name}", counter.bump(name)),
        );
        format!("{step}    timeout: 100h\n")
    });
    fly.pipeline("p", &job(&steps));
    fly.trigger_and_watch("p/job").succeeded();
    let expected = fly.watch(1).succeeded().stdout;
    names.iter().for_each(|name| counter.hold(name));
    let build = fly.trigger("p/job");
    for (name, hours) in names.iter().zip([20, -20, 0]) {
        counter.wait(name, 2);
        set(hours);
        server.kill_9();
        server.restart();
        set(-hours / 2);
        counter.release(name);
    }
    let output = fly.watch(build.id).succeeded();
    assert_eq!(output.stdout, expected);
    assert_eq!(names.map(|name| counter.count(name)), [2, 2, 2]);
    // New builds start and end as well.
    set(-20);
    fly.trigger_and_watch("p/job").succeeded();
}
