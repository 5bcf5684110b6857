//! Which ids stand behind the ids of a layer, on the disk.

/// Who owns what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The first of 65,536 ids that the ids inside are added to; needs root. `None`: files are the caller's own,
    /// as an ordinary user can have no others.
    pub base: Option<u32>,
}

/// How many ids there are inside.
const IDS: u64 = 65_536;

/// What is written to the disk for an id inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IdTooLarge(pub(crate) u64);

impl Owner {
    /// The ids to store, or nothing if files stay the caller's own. Ids that no sandbox has are refused in either case,
    /// so that an image works for everyone or for nobody.
    pub(crate) fn stored(self, user: u64, group: u64) -> Result<Option<Stored>, IdTooLarge> {
        let inside = |id: u64| u32::try_from(id).ok().filter(|_| id < IDS).ok_or(IdTooLarge(id));
        let (user, group) = (inside(user)?, inside(group)?);
        let Some(base) = self.base else { return Ok(None) };
        let shift = |id: u32| base.checked_add(id).ok_or(IdTooLarge(id.into()));
        Ok(Some(Stored { user: shift(user)?, group: shift(group)? }))
    }

    /// The mode to store for a directory. An ordinary user must be able to empty it again.
    pub(crate) fn directory_mode(self, mode: u32) -> u32 {
        match self.base {
            Some(_) => mode & 0o7777,
            None => (mode & 0o1777) | 0o700,
        }
    }

    /// The mode to store for a file. Set-id bits mean nothing on ids that are nobody's, and would mean the caller on
    /// an ordinary user's files.
    pub(crate) fn file_mode(self, mode: u32) -> u32 {
        match self.base {
            Some(_) => mode & 0o7777,
            None => (mode & 0o777) | 0o400,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_shifted_and_never_leave_their_range() {
        let owner = Owner { base: Some(0x7000_0000) };
        assert_eq!(
            owner.stored(0, 65_535),
            Ok(Some(Stored { user: 0x7000_0000, group: 0x7000_ffff }))
        );
        assert_eq!(owner.stored(65_536, 0), Err(IdTooLarge(65_536)));
        assert_eq!(owner.stored(0, u64::MAX), Err(IdTooLarge(u64::MAX)));
        assert_eq!(Owner { base: None }.stored(1_000, 1_000), Ok(None));
        assert!(Owner { base: None }.stored(1_000, 70_000).is_err());
    }

    #[test]
    fn an_ordinary_user_stores_no_set_id_bits() {
        let ordinary = Owner { base: None };
        assert_eq!(ordinary.file_mode(0o6755), 0o755);
        assert_eq!(ordinary.directory_mode(0o3555), 0o1755);
        assert_eq!(Owner { base: Some(1) }.file_mode(0o104_755), 0o4755);
    }
}
