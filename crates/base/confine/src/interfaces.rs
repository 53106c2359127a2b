//! Network interfaces of the namespace that a thread is in: addresses, routes, and up.

use std::{
    ffi::{CString, c_char},
    io, mem,
    net::Ipv4Addr,
    os::fd::{AsRawFd, OwnedFd},
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// A socket through which the kernel configures interfaces of one network namespace.
pub struct Interfaces(OwnedFd);

impl Interfaces {
    /// Opens a socket in the network namespace of this thread. It stays there if the thread moves.
    pub fn open() -> io::Result<Self> {
        let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
        Ok(Self(socket_with(family, kind, SocketFlags::CLOEXEC, None)?))
    }

    /// Gives an interface an address and the mask of its network.
    pub fn set_address(
        &self,
        interface: &str,
        address: Ipv4Addr,
        mask: Ipv4Addr,
    ) -> io::Result<()> {
        for (what, address) in [(libc::SIOCSIFADDR, address), (libc::SIOCSIFNETMASK, mask)] {
            let mut request = request_for(interface);
            request.ifr_ifru.ifru_addr = socket_address(address);
            // SAFETY: both requests read an `ifreq` with an address.
            checked(unsafe { libc::ioctl(self.0.as_raw_fd(), what as _, &request) })?;
        }
        Ok(())
    }

    /// Sets an interface up.
    pub fn set_up(&self, interface: &str) -> io::Result<()> {
        let mut request = request_for(interface);
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as _;
        // SAFETY: this request reads an `ifreq` with flags.
        checked(unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SIOCSIFFLAGS as _, &request) })
    }

    /// Sends everything that has no other route to a gateway.
    pub fn add_default_route(&self, gateway: Ipv4Addr) -> io::Result<()> {
        let mut route = default_route();
        route.rt_gateway = socket_address(gateway);
        route.rt_flags = libc::RTF_UP | libc::RTF_GATEWAY;
        // SAFETY: this request reads an `rtentry`, which names no device.
        checked(unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SIOCADDRT as _, &route) })
    }

    /// Sends everything that has no other route into an interface.
    pub fn add_default_route_into(&self, interface: &str) -> io::Result<()> {
        let device = CString::new(interface)?;
        let mut route = default_route();
        route.rt_flags = libc::RTF_UP;
        route.rt_dev = device.as_ptr().cast_mut();
        // SAFETY: this request reads an `rtentry` and the name it points to, which lives until
        // then.
        checked(unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SIOCADDRT as _, &route) })
    }
}

/// Returns a route to all addresses: zero, with a mask of zero.
fn default_route() -> libc::rtentry {
    // SAFETY: all of it may be zero.
    let mut route: libc::rtentry = unsafe { mem::zeroed() };
    route.rt_dst = socket_address(Ipv4Addr::UNSPECIFIED);
    route.rt_genmask = socket_address(Ipv4Addr::UNSPECIFIED);
    route
}

fn request_for(interface: &str) -> libc::ifreq {
    // SAFETY: all of it may be zero.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    // The last byte stays zero.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..room].iter_mut().zip(interface.bytes()) {
        *to = from as c_char;
    }
    request
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: all of it may be zero.
    let mut plain: libc::sockaddr = unsafe { mem::zeroed() };
    plain.sa_family = libc::AF_INET as _;
    // The port comes first.
    for (to, from) in plain.sa_data[2..6].iter_mut().zip(address.octets()) {
        *to = from as c_char;
    }
    plain
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_in_the_kernels_form() {
        let request = request_for("an-interface-with-too-long-a-name");
        let name: Vec<u8> = request.ifr_name.iter().map(|&c| c as u8).collect();
        assert_eq!(&name[..], b"an-interface-wi\0");
        let address = socket_address(Ipv4Addr::new(10, 1, 2, 255));
        let bytes: Vec<u8> = address.sa_data[2..6].iter().map(|&c| c as u8).collect();
        assert_eq!(bytes, [10, 1, 2, 255]);
    }

    #[test]
    fn interfaces_that_are_not_there() {
        let interfaces = Interfaces::open().unwrap();
        let none = "airside-none0";
        assert!(interfaces.set_up(none).is_err());
        assert!(interfaces.add_default_route_into("with\0nul").is_err());
    }
}
