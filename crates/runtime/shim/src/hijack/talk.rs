//! The two directions between a guest's process and its connection, at once.

use std::sync::Arc;

use airside_model::event::Source;
use airside_protocol::{
    HEARTBEAT, HubSays, Output, SILENCE, ShimSays, ToHub, ToShim, codec::MAX_PAYLOAD,
};
use bytes::Bytes;
use rustix::process::WaitStatus;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::{Duration, Instant, MissedTickBehavior, interval, sleep_until},
};

use crate::{
    connection::{self, Receiver, Sender},
    log::log,
    process::{self, Launched, Ours},
    stream::Stream,
    terminal,
};

/// Time for which output is waited for once the process has ended: a process that it left behind
/// may hold its streams open for ever.
const LINGER: Duration = Duration::from_millis(500);
/// Pieces between a stream and the connection. A slow reader makes the process wait.
const DEPTH: usize = 4;
/// Pieces of input that a process which does not read may leave lying.
const INPUT_DEPTH: usize = 64;
/// The end of the input (Ctrl-D) for a terminal.
const END_OF_INPUT: &[u8] = &[4];

/// Holds the conversation until the process has ended and all its output was sent, or the
/// connection fails.
pub(super) async fn hold(
    launched: Launched,
    receiver: &mut Receiver,
    sender: &mut Sender,
) -> Result<(), connection::Error> {
    // Whatever still runs ends with this.
    let mut tasks = JoinSet::new();
    let (written, output) = mpsc::channel(DEPTH);
    let input = match launched.ours {
        Ours::Terminal(stream) => {
            tasks.spawn(read(stream.clone(), Source::Stdout, written));
            Input::Terminal(stream)
        }
        Ours::Pipes {
            stdin,
            stdout,
            stderr,
        } => {
            tasks.spawn(read(stdout, Source::Stdout, written.clone()));
            tasks.spawn(read(stderr, Source::Stderr, written));
            Input::Pipe(stdin)
        }
    };
    let (typed, pieces) = mpsc::channel(INPUT_DEPTH);
    let terminal = input.terminal();
    tasks.spawn(write(input, pieces));
    tokio::select! {
        spoken = speak(sender, output, launched.exited) => spoken,
        error = listen(receiver, typed, terminal) => Err(error),
    }
}

enum Input {
    Terminal(Arc<Stream>),
    Pipe(Option<Stream>),
}

impl Input {
    fn terminal(&self) -> Option<Arc<Stream>> {
        match self {
            Self::Terminal(stream) => Some(stream.clone()),
            Self::Pipe(_) => None,
        }
    }
}

async fn read(stream: Arc<Stream>, source: Source, written: mpsc::Sender<(Source, Bytes)>) {
    let mut buffer = vec![0; MAX_PAYLOAD];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) => return,
            Ok(read) => {
                let piece = Bytes::copy_from_slice(&buffer[..read]);
                if written.send((source, piece)).await.is_err() {
                    return;
                }
            }
            Err(error) => return log(format_args!("cannot read what a guest writes: {error}")),
        }
    }
}

/// A process that does not want its input may close it: what comes then is dropped.
async fn write(input: Input, mut pieces: mpsc::Receiver<Bytes>) {
    match input {
        Input::Terminal(stream) => {
            while let Some(piece) = pieces.recv().await {
                let _ = stream.write_all(&piece).await;
            }
            let _ = stream.write_all(END_OF_INPUT).await;
        }
        Input::Pipe(stream) => {
            while let Some(piece) = pieces.recv().await {
                if let Some(stream) = &stream {
                    let _ = stream.write_all(&piece).await;
                }
            }
        }
    }
}

/// Says what the process writes, and then how it ended.
async fn speak(
    sender: &mut Sender,
    mut output: mpsc::Receiver<(Source, Bytes)>,
    mut exited: oneshot::Receiver<WaitStatus>,
) -> Result<(), connection::Error> {
    sender.say(ShimSays::Started).await?;
    let mut heartbeat = interval(HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut offset, mut open) = (0, true);
    let mut end: Option<(airside_protocol::Exit, Instant)> = None;
    while open || end.is_none() {
        let patience = end.as_ref().map(|(_, patience)| *patience);
        tokio::select! {
            piece = output.recv(), if open => match piece {
                Some((source, data)) => {
                    let length = data.len() as u64;
                    sender.send(ToHub::Output(Output { offset, source, data })).await?;
                    sender.flush().await?;
                    offset += length;
                }
                None => open = false,
            },
            status = &mut exited, if end.is_none() => {
                let exit = status.map_or_else(
                    |_| airside_protocol::Exit::Broken("the end of the process went unnoticed".into()),
                    process::exit,
                );
                end = Some((exit, Instant::now() + LINGER));
            }
            () = sleep_until(patience.unwrap_or_else(Instant::now)), if patience.is_some() => open = false,
            _ = heartbeat.tick() => sender.say(ShimSays::Heartbeat).await?,
        }
    }
    match end {
        Some((exit, _)) => sender.say(ShimSays::Finished { exit }).await,
        None => Ok(()),
    }
}

/// Takes what the person types, until the connection ends.
async fn listen(
    receiver: &mut Receiver,
    typed: mpsc::Sender<Bytes>,
    terminal: Option<Arc<Stream>>,
) -> connection::Error {
    let mut typed = Some(typed);
    loop {
        match receiver.receive_within(SILENCE).await {
            Ok(ToShim::Chunk(piece)) => {
                if let Some(typed) = &typed {
                    // The writer ends only with us.
                    let _ = typed.send(piece).await;
                }
            }
            Ok(ToShim::Control(HubSays::CloseInput)) => typed = None,
            Ok(ToShim::Control(HubSays::Resize(size))) => {
                if let Some(terminal) = &terminal
                    && let Err(error) = terminal::resize(terminal, size)
                {
                    log(format_args!("cannot resize a guest's terminal: {error}"));
                }
            }
            Ok(ToShim::Control(_)) => {}
            Err(error) => return error,
        }
    }
}
