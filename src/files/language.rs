//! The languages a file can be in, told by its name. What a language means is `syntax`'s business.

/// A language this program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// JavaScript and TypeScript, with JSX.
    JavaScript,
    /// Python 3.
    Python,
    /// Rust.
    Rust,
    /// SQL in migration files: schema only.
    Sql,
}

/// The one list of languages: value, name (also the folder of its packs in `rules/`), file extensions.
const LANGUAGES: &[(Language, &str, &[&str])] = &[
    (Language::JavaScript, "javascript", &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"]),
    (Language::Python, "python", &["py", "pyi"]),
    (Language::Rust, "rust", &["rs"]),
    (Language::Sql, "sql", &["sql"]),
];

impl Language {
    /// The language of a file with this extension.
    pub fn of_extension(extension: &str) -> Option<Language> {
        LANGUAGES.iter().find(|(_, _, known)| known.contains(&extension)).map(|(language, _, _)| *language)
    }

    /// The extensions of all languages.
    pub fn all_extensions() -> impl Iterator<Item = &'static str> {
        LANGUAGES.iter().flat_map(|(_, _, extensions)| extensions.iter().copied())
    }

    /// The language with this name, as a rule pack's folder spells it.
    pub fn of_name(name: &str) -> Option<Language> {
        LANGUAGES.iter().find(|(_, known, _)| *known == name).map(|(language, _, _)| *language)
    }

    /// Whether an error is a value that the caller looks at, not a jump out of the function.
    pub fn errors_are_values(self) -> bool {
        self == Language::Rust
    }

    /// Whether a name declared in a function means what it meant outside until it is declared.
    pub fn declares_from_here_on(self) -> bool {
        self == Language::Rust
    }

    /// Whether what is declared in a class goes by its bare name in the rest of the class's body.
    pub fn fields_go_by_name(self) -> bool {
        self == Language::Python
    }

    /// The language's name, as a rule pack's folder spells it.
    pub fn name(self) -> &'static str {
        LANGUAGES.iter().find(|(language, _, _)| *language == self).map_or("", |(_, name, _)| name)
    }
}
