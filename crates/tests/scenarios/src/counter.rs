//! A place outside every sandbox where steps report: proof of how often each ran, and a brake.
//!
//! A step sends its name as a line and goes on when it gets a line back. A *held* name gets none
//! until it is released, so that a test can act while the step is in the middle.

use std::{
    collections::HashSet,
    io::{BufRead, BufReader, Write},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
};

use crate::wait_until;

pub struct Counter {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    book: Mutex<Book>,
    changed: Condvar,
}

#[derive(Default)]
struct Book {
    arrivals: Vec<String>,
    held: HashSet<String>,
    closed: bool,
}

impl Counter {
    /// Starts a counter on loopback, for steps on this machine.
    pub fn start() -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST.into())
    }

    /// Starts a counter on an address that the steps can reach, such as the cluster's `host-ip`.
    pub fn start_at(ip: IpAddr) -> Self {
        let listener = TcpListener::bind((ip, 0)).expect("some port is free");
        let address = listener.local_addr().unwrap();
        let shared = Arc::<Shared>::default();
        let visitors = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if visitors.book.lock().unwrap().closed {
                    return;
                }
                let shared = visitors.clone();
                thread::spawn(move || shared.serve(stream));
            }
        });
        Self { address, shared }
    }

    /// A line of bash that counts one run of `name`, and waits as long as it is held.
    pub fn bump(&self, name: &str) -> String {
        let (ip, port) = (self.address.ip(), self.address.port());
        format!("exec 9<>/dev/tcp/{ip}/{port} && echo {name} >&9 && read -r -u 9 _ && exec 9>&-")
    }

    pub fn count(&self, name: &str) -> usize {
        self.shared
            .book
            .lock()
            .unwrap()
            .arrivals
            .iter()
            .filter(|known| *known == name)
            .count()
    }

    /// Everybody who came, in order.
    pub fn arrivals(&self) -> Vec<String> {
        self.shared.book.lock().unwrap().arrivals.clone()
    }

    /// Lets steps that count under this name wait for [`Counter::release`] from now on.
    pub fn hold(&self, name: &str) {
        self.shared
            .book
            .lock()
            .unwrap()
            .held
            .insert(name.to_owned());
    }

    pub fn release(&self, name: &str) {
        self.shared.book.lock().unwrap().held.remove(name);
        self.shared.changed.notify_all();
    }

    /// Waits until `name` has been counted this often.
    #[track_caller]
    pub fn wait(&self, name: &str, count: usize) {
        wait_until(&format!("{name} counted {count} times"), || {
            self.count(name) >= count
        });
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        let mut book = self.shared.book.lock().unwrap();
        book.closed = true;
        book.held.clear();
        drop(book);
        self.shared.changed.notify_all();
        // Wakes the listener up to see that it is over.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) {
        let mut name = String::new();
        let read = BufReader::new(&stream).read_line(&mut name);
        if read.is_err() || !name.ends_with('\n') {
            return;
        }
        let name = name.trim();
        let mut book = self.book.lock().unwrap();
        book.arrivals.push(name.to_owned());
        while book.held.contains(name) {
            book = self.changed.wait(book).unwrap();
        }
        drop(book);
        let _ = (&stream).write_all(b"go\n");
    }
}
