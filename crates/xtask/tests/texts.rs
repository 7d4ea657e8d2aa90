//! Every text that the RTI hands to a federate or prints is ASCII, but for what users named: in the
//! C locale a `wofstream`, or `wcout` without `sync_with_stdio`, fails at the first other character
//! and loses all that follows.

use proc_macro2::{Spacing, TokenStream, TokenTree};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files below `folder` that end with one of these.
fn files(folder: &Path, ends: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ends));
        } else if ends.iter().any(|end| path.to_str().unwrap().ends_with(end)) {
            found.push(path);
        }
    }
    found
}

/// Lines of Rust source with literals that are not ASCII; doc comments are none.
fn rust(text: &str) -> Vec<usize> {
    fn walk(tokens: TokenStream, found: &mut Vec<usize>) {
        let mut attribute = false;
        for token in tokens {
            let was = std::mem::take(&mut attribute);
            match token {
                TokenTree::Punct(p) => {
                    attribute = p.as_char() == '#' && p.spacing() == Spacing::Alone
                        || was && p.as_char() == '!';
                }
                TokenTree::Group(group) => {
                    let doc = group.stream().into_iter().next();
                    if !(was && doc.is_some_and(|d| d.to_string() == "doc")) {
                        walk(group.stream(), found);
                    }
                }
                TokenTree::Literal(literal) if !literal.to_string().is_ascii() => {
                    found.push(literal.span().start().line);
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    walk(text.parse().expect("Rust"), &mut found);
    found
}

/// Lines of C++ or shell source that are not ASCII before `comment`.
fn before_comments(text: &str, comment: &str) -> Vec<usize> {
    let bad = |line: &str| {
        let mut quoted = false;
        let mut escaped = false;
        for (at, c) in line.char_indices() {
            if !quoted && line[at..].starts_with(comment) {
                break;
            }
            if !c.is_ascii() {
                return true;
            }
            quoted ^= c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
        }
        false
    };
    let lines = text.lines().enumerate();
    lines.filter(|(_, l)| bad(l)).map(|(n, _)| n + 1).collect()
}

#[test]
fn every_text_for_users_is_ascii() {
    let crates = root().join("crates");
    let mut wrong = Vec::new();
    let mut look = |path: &Path, check: &dyn Fn(&str) -> Vec<usize>| {
        let text = std::fs::read_to_string(path).unwrap();
        let shown = path.strip_prefix(root()).unwrap().display().to_string();
        wrong.extend(check(&text).iter().map(|line| format!("{shown}:{line}")));
    };
    for entry in std::fs::read_dir(&crates).unwrap() {
        let source = entry.unwrap().path().join("src");
        for path in files(&source, &[".rs"]) {
            // The program's `--help` is made of its doc comments.
            if path.starts_with(crates.join("starling-cli")) {
                look(&path, &|text| before_comments(text, "\0"))
            } else {
                look(&path, &rust)
            }
        }
    }
    for path in files(&root().join("cpp"), &[".h", ".cpp", ".inc"]) {
        look(&path, &|text| before_comments(text, "//"));
    }
    for path in files(&root().join("scripts"), &[""]) {
        look(&path, &|text| before_comments(text, "#"));
    }
    assert!(wrong.is_empty(), "not ASCII: {wrong:#?}");
}

#[test]
fn a_text_that_is_not_ascii_is_found() {
    assert_eq!(
        rust("fn f() { g(\n\"\u{a7}\") } /// \u{a7}\nfn g() {}"),
        [2]
    );
    assert_eq!(rust("//! \u{a7}\n#[error(\"\u{a7}\")] struct S;"), [2]);
    let cpp = "a(\"http://\u{a7}\"); // \u{a7}\nb(); // \u{a7}\nc(\"\\\"//\u{a7}\");";
    assert_eq!(before_comments(cpp, "//"), [1, 3]);
}
