//! The one request that the kernel takes in no other way: a pair of interfaces, one end elsewhere.

use std::io;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::network::Group;

const LINK_INFO: u16 = 18;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const PEER: u16 = 1;

/// Makes `near` here, in a group of interfaces, and `far` in the network of the process `pid`.
/// Neither is up yet.
pub(super) fn make_pair(near: &str, group: Group, far: &str, pid: i32) -> io::Result<()> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        // Routes and interfaces are the first of netlink's protocols, and the default.
        None,
    )?;
    rustix::net::send(&socket, &request(near, group, far, pid), SendFlags::empty())?;
    let mut answer = [0; 1024];
    let (length, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    outcome(&answer[..length])
}

fn request(near: &str, group: Group, far: &str, pid: i32) -> Vec<u8> {
    let mut peer = interface();
    attribute(&mut peer, libc::IFLA_IFNAME, &text(far));
    attribute(&mut peer, libc::IFLA_NET_NS_PID, &pid.to_ne_bytes());
    let mut data = Vec::new();
    attribute(&mut data, PEER, &peer);
    let mut info = Vec::new();
    attribute(&mut info, INFO_KIND, b"veth");
    attribute(&mut info, INFO_DATA, &data);
    let mut body = interface();
    attribute(&mut body, libc::IFLA_IFNAME, &text(near));
    attribute(&mut body, libc::IFLA_GROUP, &group.number().to_ne_bytes());
    attribute(&mut body, LINK_INFO, &info);

    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let mut message = Vec::new();
    message.extend((16 + body.len() as u32).to_ne_bytes());
    message.extend(libc::RTM_NEWLINK.to_ne_bytes());
    message.extend((flags as u16).to_ne_bytes());
    // Our number for it and who we are: one request, one answer.
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// Returns the description of an interface of which nothing is known: family, kind and number, then
/// flags and their mask.
fn interface() -> Vec<u8> {
    vec![0; 16]
}

fn text(name: &str) -> Vec<u8> {
    name.bytes().chain([0]).collect()
}

fn attribute(to: &mut Vec<u8>, kind: u16, value: &[u8]) {
    to.extend((4 + value.len() as u16).to_ne_bytes());
    to.extend(kind.to_ne_bytes());
    to.extend(value);
    to.resize(to.len().next_multiple_of(4), 0);
}

/// The answer is an error message, whose code is zero if all went well.
fn outcome(answer: &[u8]) -> io::Result<()> {
    let nonsense = || io::Error::other("the kernel gives an answer that is none");
    let kind = answer.get(4..6).ok_or_else(nonsense)?;
    let code = answer.get(16..20).ok_or_else(nonsense)?;
    if kind != (libc::NLMSG_ERROR as u16).to_ne_bytes() {
        return Err(nonsense());
    }
    match i32::from_ne_bytes(code.try_into().expect("four bytes were asked for")) {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_right_and_padded() {
        let group = Group::of(&airside_model::InstallationId::new("one"));
        let request = request("airside12345", group, "eth0", 7);
        assert_eq!(request.len() % 4, 0);
        assert_eq!(request[..4], (request.len() as u32).to_ne_bytes());
    }

    #[test]
    fn answers_are_read() {
        let answer = |kind: i32, code: i32| {
            let mut bytes = vec![0; 4];
            bytes.extend((kind as u16).to_ne_bytes());
            bytes.extend([0; 10]);
            bytes.extend(code.to_ne_bytes());
            bytes
        };
        assert!(outcome(&answer(libc::NLMSG_ERROR, 0)).is_ok());
        let error = outcome(&answer(libc::NLMSG_ERROR, -libc::EEXIST)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EEXIST));
        assert!(outcome(&answer(libc::NLMSG_DONE, 0)).is_err());
        assert!(outcome(&[]).is_err());
    }
}
