//! Makes the container from its bundle, until its first process waits for the start.

use std::{
    fs::{self, File},
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use airside_model::chain;
use libcontainer::{
    container::{Container, builder::ContainerBuilder},
    syscall::syscall::SyscallType,
};

use crate::{container::ContainerDir, oci::Maker};

/// Waits.
pub(super) enum Created {
    Library(Box<Container>),
    Program(Program),
}

pub(super) struct Program {
    program: PathBuf,
    root: PathBuf,
    log: PathBuf,
    handle: String,
    pid: i32,
}

pub(super) fn create(maker: &Maker, dir: &ContainerDir, handle: &str) -> Result<Created, String> {
    match maker {
        Maker::Libcontainer => library(dir, handle).map(|made| Created::Library(Box::new(made))),
        Maker::Program(program) => by_program(program, dir, handle).map(Created::Program),
    }
}

impl Created {
    pub(super) fn pid(&self) -> Result<i32, String> {
        match self {
            Self::Library(container) => {
                let pid = container.pid().ok_or("the container has no process")?;
                Ok(pid.as_raw())
            }
            Self::Program(program) => Ok(program.pid),
        }
    }

    pub(super) fn start(&mut self) -> Result<(), String> {
        match self {
            Self::Library(container) => container.start().map_err(|error| chain(&error)),
            Self::Program(program) => {
                let mut command = program.command();
                command.args(["start", &program.handle]);
                run(&mut command, &program.log)
            }
        }
    }
}

fn library(dir: &ContainerDir, handle: &str) -> Result<Container, String> {
    let log = dir.join("shim.log");
    ContainerBuilder::new(handle.to_owned(), SyscallType::default())
        .with_root_path(dir.join("oci"))
        .map_err(|error| chain(&error))?
        .with_stdin(OwnedFd::from(null()))
        .with_stdout(append(&log)?)
        .with_stderr(append(&log)?)
        .as_init(dir.path())
        .with_systemd(false)
        .with_detach(true)
        .build()
        .map_err(|error| chain(&error))
}

fn by_program(program: &Path, dir: &ContainerDir, handle: &str) -> Result<Program, String> {
    let pid_file = dir.join("pid");
    let mut made = Program {
        program: program.to_owned(),
        root: dir.join("oci"),
        log: dir.join("oci.log"),
        handle: handle.to_owned(),
        pid: 0,
    };
    let streams = dir.join("shim.log");
    let mut command = made.command();
    command
        .args(["create", "--bundle"])
        .arg(dir.path())
        .arg("--pid-file")
        .arg(&pid_file)
        .arg(handle)
        .stdin(null())
        .stdout(append(&streams)?)
        .stderr(append(&streams)?);
    run(&mut command, &made.log)?;
    let pid = fs::read_to_string(&pid_file);
    made.pid = pid
        .and_then(|text| text.trim().parse().map_err(io::Error::other))
        .map_err(|error| format!("{}: {error}", pid_file.display(), error = chain(&error)))?;
    Ok(made)
}

impl Program {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--root")
            .arg(&self.root)
            .arg("--log")
            .arg(&self.log)
            .stdin(Stdio::null());
        command
    }
}

fn run(command: &mut Command, log: &Path) -> Result<(), String> {
    let program = Path::new(command.get_program()).display().to_string();
    let status = command
        .status()
        .map_err(|error| format!("{program}: {}", chain(&error)))?;
    if status.success() {
        return Ok(());
    }
    let said = fs::read_to_string(log).unwrap_or_default();
    Err(format!("{program}: {status}: {}", said.trim()))
}

fn append(path: &Path) -> Result<File, String> {
    let file = File::options()
        .read(true)
        .append(true)
        .create(true)
        .open(path);
    file.map_err(|error| format!("{}: {error}", path.display(), error = chain(&error)))
}

fn null() -> File {
    File::open("/dev/null").expect("every Linux has /dev/null")
}
