//! A filter of system calls, as the kernel takes it: what no build or test needs, and what leads out of a namespace.
//!
//! It is a list of what is refused. Programs that agents run are too many to list what they need.

use std::io;

use seccompiler::sock_filter as Instruction;

/// Reads a word of the call's data; compares; ends. The instructions of the classic packet filter that are used here.
const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const REFUSE: u32 = 0x0005_0000;

/// Where in the call's data are its number, its architecture and the low half of an argument.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const fn argument(place: u32) -> u32 {
    16 + 8 * place
}

#[cfg(target_arch = "x86_64")]
const OURS: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const OURS: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OURS: u32 = 0;

/// On x86-64 the same calls have second numbers from here on.
const SECOND_NUMBERS: u32 = 0x4000_0000;

/// Kernel interfaces with a history of holes, and those that act on the machine as a whole.
const REFUSED: [libc::c_long; 25] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_perf_event_open,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_userfaultfd,
];

/// Typing on a terminal, and what a text console is set up by.
const TERMINAL_TRICKS: [u32; 2] = [0x5412, 0x541c];

/// Kinds of sockets that no network namespace holds back, or that are a way into the kernel: vsock (the hypervisor), the
/// kernel's own cryptography.
const SOCKETS: [u32; 2] = [libc::AF_VSOCK as u32, libc::AF_ALG as u32];

/// Which sockets are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// All that a network namespace holds back.
    Namespaced,
    /// None by which programs of this machine are reached: Docker, the ssh agent, the session's bus. Pairs are made.
    Internet,
    None,
}

/// Kinds of pairs of which one end can send to any socket in a folder, with each of the flags. (A raw one is a datagram one.)
const PAIRS: [u32; 8] = {
    const CLOSES: u32 = libc::SOCK_CLOEXEC as u32;
    const WAITS_NOT: u32 = libc::SOCK_NONBLOCK as u32;
    const DATAGRAM: u32 = libc::SOCK_DGRAM as u32;
    const RAW: u32 = libc::SOCK_RAW as u32;
    [
        DATAGRAM,
        DATAGRAM | CLOSES,
        DATAGRAM | WAITS_NOT,
        DATAGRAM | CLOSES | WAITS_NOT,
        RAW,
        RAW | CLOSES,
        RAW | WAITS_NOT,
        RAW | CLOSES | WAITS_NOT,
    ]
};

const NOT_PERMITTED: u32 = 1;
const NOT_THERE: u32 = 38;

/// The filter as `bwrap --seccomp` reads it; nothing where this architecture is not known here.
pub(super) fn filter() -> Option<Vec<u8>> {
    (OURS != 0).then(|| assembled(Sockets::Namespaced).iter().flat_map(bytes).collect())
}

/// Puts the filter on this process, for good.
pub(super) fn put_on(sockets: Sockets) -> io::Result<()> {
    if OURS == 0 {
        return Err(io::Error::other("the system calls of this machine's processor are not known here"));
    }
    seccompiler::apply_filter(&assembled(sockets)).map_err(io::Error::other)
}

fn assembled(sockets: Sockets) -> Vec<Instruction> {
    let mut program = vec![
        instruction(LOAD, 0, 0, ARCHITECTURE),
        instruction(JUMP_IF_EQUAL, 1, 0, OURS),
        instruction(RETURN, 0, 0, REFUSE | NOT_THERE),
        instruction(LOAD, 0, 0, NUMBER),
    ];
    if cfg!(target_arch = "x86_64") {
        program.push(instruction(JUMP_IF_AT_LEAST, 0, 1, SECOND_NUMBERS));
        program.push(instruction(RETURN, 0, 0, REFUSE | NOT_THERE));
    }
    for call in REFUSED {
        // What asks politely whether it is there goes on without.
        let answer = if is_optional(call) { NOT_THERE } else { NOT_PERMITTED };
        program.push(instruction(JUMP_IF_EQUAL, 0, 1, call as u32));
        program.push(instruction(RETURN, 0, 0, REFUSE | answer));
    }
    by_argument(&mut program, libc::SYS_ioctl, 1, &TERMINAL_TRICKS);
    match sockets {
        Sockets::Namespaced => by_argument(&mut program, libc::SYS_socket, 0, &SOCKETS),
        Sockets::Internet => {
            let [hypervisor, cryptography] = SOCKETS;
            let refused = [hypervisor, cryptography, libc::AF_UNIX as u32];
            by_argument(&mut program, libc::SYS_socket, 0, &refused);
        }
        Sockets::None => {
            program.push(instruction(JUMP_IF_EQUAL, 0, 1, libc::SYS_socket as u32));
            program.push(instruction(RETURN, 0, 0, REFUSE | NOT_PERMITTED));
        }
    }
    if sockets != Sockets::Namespaced {
        by_argument(&mut program, libc::SYS_socketpair, 1, &PAIRS);
    }
    program.push(instruction(RETURN, 0, 0, ALLOW));
    program
}

fn is_optional(call: libc::c_long) -> bool {
    [libc::SYS_io_uring_setup, libc::SYS_userfaultfd, libc::SYS_name_to_handle_at].contains(&call)
}

/// Refuses a call where one of its arguments has one of these values.
fn by_argument(program: &mut Vec<Instruction>, call: libc::c_long, place: u32, values: &[u32]) {
    // Past the argument's load, a comparison and an answer for each value, and the load of the number.
    let past = 2 * values.len() as u8 + 2;
    program.push(instruction(JUMP_IF_EQUAL, 0, past, call as u32));
    program.push(instruction(LOAD, 0, 0, argument(place)));
    for value in values {
        program.push(instruction(JUMP_IF_EQUAL, 0, 1, *value));
        program.push(instruction(RETURN, 0, 0, REFUSE | NOT_PERMITTED));
    }
    program.push(instruction(LOAD, 0, 0, NUMBER));
}

fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> Instruction {
    Instruction { code, jt, jf, k }
}

fn bytes(instruction: &Instruction) -> [u8; 8] {
    let ([a, b], [w, x, y, z]) = (instruction.code.to_ne_bytes(), instruction.k.to_ne_bytes());
    [a, b, instruction.jt, instruction.jf, w, x, y, z]
}
