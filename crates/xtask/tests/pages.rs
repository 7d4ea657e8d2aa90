//! What is installed of the pages has no link to what is not.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files below a folder of the sources, by their place there.
fn below(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            below(&path, found);
        } else {
            found.insert(path);
        }
    }
}

/// What CMakeLists.txt installs into the folder of the documentation, which is laid out as the sources are.
fn installed() -> BTreeSet<PathBuf> {
    const FOLDER: &str = "${CMAKE_INSTALL_DOCDIR}";
    let text = std::fs::read_to_string(root().join("CMakeLists.txt")).unwrap();
    let mut found = BTreeSet::new();
    for command in text.split("install(").skip(1) {
        let command = command.split_once(')').expect("it ends").0;
        let words: Vec<_> = command.split_whitespace().collect();
        let [what, files @ .., "DESTINATION", to] = &words[..] else {
            continue;
        };
        let Some(below_it) = to.strip_prefix(FOLDER) else {
            continue;
        };
        for file in files.iter().filter(|f| !f.starts_with("${")) {
            let file = Path::new(file);
            if *what == "DIRECTORY" {
                below(file, &mut found);
                continue;
            }
            let place = Path::new(below_it.trim_start_matches('/')).join(file.file_name().unwrap());
            assert_eq!(place, file, "it stands elsewhere than in the sources");
            found.insert(place);
        }
    }
    found
}

/// The files to which a page has links.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    let files = targets.map(|(target, _)| target.split('#').next().unwrap_or_default());
    files.filter(|file| !file.is_empty() && !file.contains(':') && !file.contains(' '))
}

/// Without `..` in it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop(), "{} is outside", path.display()),
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn installed_pages_have_links_to_installed_files_only() {
    let installed = installed();
    let is_page = |file: &&PathBuf| file.extension().is_some_and(|e| e == "md");
    let pages: Vec<_> = installed.iter().filter(is_page).collect();
    assert!(pages.len() > 40, "{pages:?}");
    let mut dead = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        for link in links(&text) {
            let to = plain(&page.parent().unwrap().join(link));
            if !installed.iter().any(|file| file.starts_with(&to)) {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
}
