//! The source of one crate as the rules look at it: without its tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use super::uses::{self, Uses};
use crate::Result;

pub(super) struct Crate {
    pub(super) name: String,
    pub(super) files: Vec<SourceFile>,
    /// Its top-level modules.
    pub(super) modules: BTreeSet<String>,
}

pub(super) struct SourceFile {
    /// Relative to the repository.
    pub(super) path: PathBuf,
    /// The top-level module it is part of; none for the root.
    pub(super) module: Option<String>,
    /// Without tests.
    pub(super) lines: usize,
    pub(super) functions: Vec<Function>,
    /// Top-level modules it names, and where first.
    pub(super) uses: Uses,
}

pub(super) struct Function {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) lines: usize,
}

/// The names of the folders in `crates`.
pub(super) fn crates(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join("crates"))? {
        let entry = entry?;
        if entry.path().join("src").is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

impl Crate {
    /// The crate in this folder of the repository.
    pub(super) fn read(root: &Path, folder: &Path, name: &str) -> Result<Crate> {
        let folder = folder.join("src");
        let mut paths = Vec::new();
        rust_files(root, &folder, &mut paths)?;
        let mut parsed = Vec::new();
        for path in paths {
            let text = fs::read_to_string(root.join(&path))?;
            let file = syn::parse_file(&text).map_err(|error| format!("{}: {error}", path.display()))?;
            parsed.push((path, text, file));
        }
        let tests: Vec<PathBuf> =
            parsed.iter().flat_map(|(path, _, file)| test_modules(path, file)).collect();
        let is_test = |path: &Path| {
            tests.iter().any(|test| path.starts_with(test) || path == test.with_extension("rs"))
        };
        parsed.retain(|(path, ..)| !is_test(path));
        let modules = parsed.iter().filter_map(|(path, ..)| module(&folder, path)).collect();
        let is_root = |path: &Path| path == folder.join("lib.rs") || path == folder.join("main.rs");
        let roots = parsed.iter().filter(|(path, ..)| is_root(path));
        let passed_on: BTreeMap<String, String> =
            roots.flat_map(|(.., file)| uses::passed_on(file)).collect();
        let meant = |(name, line)| (passed_on.get(&name).cloned().unwrap_or(name), line);
        let files = parsed.iter().map(|(path, text, file)| SourceFile {
            path: path.clone(),
            module: module(&folder, path),
            lines: lines_without_tests(text, file),
            functions: functions(file),
            uses: uses::uses(file, uses::depth(&folder, path)).into_iter().map(meant).collect(),
        });
        Ok(Crate { name: name.to_owned(), files: files.collect(), modules })
    }
}

fn rust_files(root: &Path, folder: &Path, into: &mut Vec<PathBuf>) -> Result {
    let mut entries: Vec<_> = fs::read_dir(root.join(folder))?.collect::<std::io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            rust_files(root, &path, into)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            into.push(path);
        }
    }
    Ok(())
}

/// `core/src/plan.rs` and all of `core/src/plan/` are the module `plan`.
fn module(folder: &Path, path: &Path) -> Option<String> {
    let first = path.strip_prefix(folder).ok()?.iter().next()?;
    let name = Path::new(first).file_stem()?.to_str()?;
    (!matches!(name, "lib" | "main" | "bin")).then(|| name.to_owned())
}

/// Where the modules that a file declares for tests only are, without an ending.
fn test_modules(path: &Path, file: &syn::File) -> Vec<PathBuf> {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let parent = path.parent().unwrap_or(Path::new(""));
    let folder = match stem {
        "mod" | "lib" | "main" => parent.to_owned(),
        _ => parent.join(stem),
    };
    let declared = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() && is_for_tests(&module.attrs) => Some(module),
        _ => None,
    });
    declared.map(|module| folder.join(module.ident.to_string())).collect()
}

pub(super) fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
        other => other.path().is_ident("test"),
    })
}

fn lines_without_tests(text: &str, file: &syn::File) -> usize {
    let tests = file.items.iter().filter(|item| is_for_tests(attributes(item)));
    text.lines().count() - tests.map(|item| length(item.span())).sum::<usize>()
}

pub(super) fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Const(item) => &item.attrs,
        _ => &[],
    }
}

fn length(span: Span) -> usize {
    span.end().line + 1 - span.start().line
}

/// Those that are not for tests, also inside others.
fn functions(file: &syn::File) -> Vec<Function> {
    let mut found = Functions(Vec::new());
    found.visit_file(file);
    found.0
}

struct Functions(Vec<Function>);

impl Functions {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let (start, end) = (signature.span().start().line, body.span().end().line);
        self.0.push(Function { name: signature.ident.to_string(), line: start, lines: end + 1 - start });
    }
}

impl<'a> Visit<'a> for Functions {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        if !is_for_tests(&function.attrs) {
            self.add(&function.sig, &function.block);
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'a syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.add(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}
