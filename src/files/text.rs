//! The text of one file, where it is worth reading: UTF-8, of a size that people write, and not minified.
//! It must not know what the text is.

use std::path::Path;
use std::{fs, io};

use super::GapKind;

/// Files above this many bytes are not read.
const LARGEST_FILE: u64 = 2 * 1024 * 1024;
/// A longer line is not written by hand.
const LONGEST_LINE: usize = 50 * 1024;
/// From this many bytes on the mean length of a line is looked at.
const MEAN_FROM: usize = 20 * 1024;
/// A higher mean length of the lines is not written by hand.
const HIGHEST_MEAN: usize = 500;

/// The text of a file without its byte order mark, or why a scan goes on without it.
pub fn read_text(path: &Path) -> Result<String, (GapKind, String)> {
    let unreadable = |error: io::Error| (GapKind::Unreadable, format!("cannot be read: {error}; it was not scanned"));
    let size = fs::metadata(path).map_err(unreadable)?.len();
    if size > LARGEST_FILE {
        let message = format!("{:.1} MB is above the limit of 2 MB; it was not scanned", size as f64 / 1e6);
        return Err((GapKind::TooLarge, message));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        (GapKind::NotUtf8, format!("is not UTF-8 (byte {at}); save it as UTF-8 to have it scanned"))
    })?;
    if is_minified(&text) {
        return Err((GapKind::TooLarge, "looks minified or generated (very long lines); it was not scanned".to_string()));
    }
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_string(),
        None => text,
    })
}

fn is_minified(text: &str) -> bool {
    if text.len() < MEAN_FROM {
        return false;
    }
    let lines = text.lines().count().max(1);
    text.len() / lines > HIGHEST_MEAN || text.lines().any(|line| line.len() > LONGEST_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_minified_only_where_there_is_much_of_them() {
        assert!(!is_minified(&"a".repeat(2_000)));
        assert!(is_minified(&format!("{}\n", "a".repeat(600)).repeat(40)));
        assert!(!is_minified(&format!("{}\n", "a".repeat(100)).repeat(400)));
        assert!(is_minified(&format!("{}{}", "a\n".repeat(10_000), "b".repeat(51 * 1024))));
    }
}
