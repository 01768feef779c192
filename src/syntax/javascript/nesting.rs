//! How deeply a text may be nested, told before the recursive parser meets it, so that no input can overflow the stack.
//! It knows brackets and separators, and nothing else of the language.

/// Stack the parser and the lowering need for one level, in bytes; generous, for builds without optimisation.
const BYTES_A_LEVEL: usize = 32 * 1024;
/// Levels that fit the stack of any thread.
const LEVELS_IN_PLACE: usize = 40;
/// Levels beyond which a text is no program that a person wrote.
const MOST_LEVELS: usize = 16 * 1024;
/// Tokens without a separator that weigh as much as a bracket.
const TOKENS_A_LEVEL: usize = 16;

/// Runs `work` on a stack that `text` cannot overflow; `None` when there can be no such stack, or when `work` panicked.
pub(super) fn with_enough_stack<T: Send>(text: &str, work: impl FnOnce() -> T + Send) -> Option<T> {
    let levels = levels(text);
    if levels <= LEVELS_IN_PLACE {
        return std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).ok();
    }
    if levels > MOST_LEVELS {
        return None;
    }
    std::thread::scope(|scope| {
        let stack = levels.max(256) * BYTES_A_LEVEL;
        std::thread::Builder::new().stack_size(stack).spawn_scoped(scope, work).ok()?.join().ok()
    })
}

/// An upper bound of the nesting: open brackets, and what stands between two separators, because operators, `else` and
/// markup nest without brackets.
fn levels(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut around, mut base, mut depth, mut most) = (Vec::new(), 0, 0, 0);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let mut length = 1;
        match byte {
            b'"' | b'\'' => length = quoted(rest, byte),
            b'/' if rest.starts_with(b"//") => length = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with(b"/*") => {
                length = rest.windows(2).skip(2).position(|two| two == b"*/").map_or(rest.len(), |end| end + 4)
            }
            b'(' | b'[' | b'{' => {
                around.push((base, depth));
                depth += TOKENS_A_LEVEL;
                base = depth;
            }
            b')' | b']' | b'}' => (base, depth) = around.pop().unwrap_or((base, depth)),
            b';' | b',' => depth = base,
            _ if byte.is_ascii_whitespace() => {}
            _ if in_word(byte) => {
                length = rest.iter().take_while(|&&b| in_word(b)).count();
                if rest.get(..length) == Some(b"else") {
                    base += TOKENS_A_LEVEL;
                    depth = depth.max(base);
                }
                depth += 1;
            }
            _ => depth += 1,
        }
        most = most.max(depth);
        at += length;
    }
    most / TOKENS_A_LEVEL
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii()
}

/// Length of the string at the start of `rest`, up to the end of its line at most.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' => return at,
            _ if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_code_is_shallow() {
        assert!(levels("if (a) { f({ b: [1, 2, 3] }); }\n".repeat(1000).as_str()) < 100);
        assert!(levels("f('((((((((((((((', \"]]]\"); // ((((((((\n/* {{{{{{{{{{{ */ g();") < 5);
    }

    #[test]
    fn brackets_operators_and_else_count() {
        assert!(levels(&"(".repeat(500)) >= 500);
        assert!(levels(&"!".repeat(16 * 500)) >= 500);
        assert!(levels(&"if (a) b; else ".repeat(500)) >= 500);
    }

    #[test]
    fn what_no_stack_can_hold_is_refused() {
        assert_eq!(with_enough_stack(&"[".repeat(1_000_000), || ()), None);
        assert_eq!(with_enough_stack("[]", || 7), Some(7));
    }
}
