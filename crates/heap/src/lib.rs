//! What a server asks of the C library's allocator, so that it stays small after it has worked.
//!
//! Left alone, the allocator keeps a pool ("arena") for nearly every thread, and each keeps what it ever needed. A task is dozens of threads that
//! come and go, and a server that had done ten of them kept three times of what it used. So there is one pool, and what is free in it is given
//! back when the server has had a quiet moment. The locks of one pool cost nothing here: those who move many bytes are processes of their own.
//!
//! Elsewhere than with the GNU C library both do nothing.

/// From now on all threads share one pool. To be called before there are others.
pub fn share() {
    #[cfg(target_env = "gnu")]
    {
        #[expect(
            unsafe_code,
            reason = "no safe wrapper: it sets a number in the allocator, whatever the number is"
        )]
        // SAFETY: `mallopt` may be called at any time by any thread; it locks the allocator.
        let _taken = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

/// Gives free memory back to the kernel. Takes a few milliseconds, during which nobody can allocate.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    {
        #[expect(unsafe_code, reason = "no safe wrapper: it looks through free memory alone")]
        // SAFETY: `malloc_trim` may be called at any time by any thread; it locks the allocator.
        let _released = unsafe { libc::malloc_trim(0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What of this process is in memory and no file's, in KiB.
    fn own() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    fn what_threads_have_freed_is_given_back() {
        share();
        // Small pieces, of which every hundredth stays: the allocator alone gives nothing of that back.
        let kept: Vec<Vec<u8>> = std::thread::spawn(|| {
            let all: Vec<Vec<u8>> = (0..100_000).map(|_| vec![1; 400]).collect();
            all.into_iter().step_by(100).collect()
        })
        .join()
        .unwrap();
        let before = own();
        give_back();
        let after = own();
        assert_eq!(kept.len(), 1_000);
        assert!(after + 20_000 < before, "{before} KiB, then {after} KiB");
    }
}
