//! Addresses that are never called: what stands behind them is not the partner's, but ours.

// Only the types of addresses: there are no sockets in `core`.
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is anything but a public one of a single host.
///
/// Forms of IPv6 that carry an IPv4 address are refused as a whole, whichever address they carry:
/// nobody's public receiver has one, and where they lead is decided by routers.
#[must_use]
pub fn is_forbidden(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_forbidden_v4(v4),
        IpAddr::V6(v6) => is_forbidden_v6(v6),
    }
}

fn is_forbidden_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    matches!(
        (a, b, c),
        (0 | 10 | 127, _, _)
            // Shared by the customers of a provider.
            | (100, 64..=127, _)
            // Link-local: the metadata of clouds.
            | (169, 254, _)
            | (172, 16..=31, _)
            // Protocol assignments, documentation, and the relays of 6to4.
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            // Benchmarks and documentation.
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
            // Multicast, reserved and broadcast.
            | (224..=255, _, _)
    ) || is_metadata_of_a_cloud(address)
}

/// Public addresses that a cloud answers to its own machines only.
fn is_metadata_of_a_cloud(address: Ipv4Addr) -> bool {
    // Alibaba's lies in the shared range; Azure's wire server does not.
    address == Ipv4Addr::new(168, 63, 129, 16)
}

fn is_forbidden_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    // Only 2000::/3 is given out to hosts; all else is local, multicast, mapped, translated or reserved.
    if a & 0xe000 != 0x2000 {
        return true;
    }
    match (a, b) {
        // Teredo, benchmarks, ORCHID, and the other protocol assignments of 2001::/23.
        (0x2001, 0..=0x01ff) => true,
        // Documentation.
        (0x2001, 0x0db8) => true,
        // 6to4.
        (0x2002, _) => true,
        // Documentation, 3fff::/20.
        (0x3fff, _) => b < 0x1000,
        // Retired test network, which anybody may announce.
        (0x3ffe, _) => true,
        _ => false,
    }
}
