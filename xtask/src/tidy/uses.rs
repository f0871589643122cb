//! Which top-level modules of its crate a file names: behind `crate::`, behind as many `super::` as lead to the crate's root,
//! and by names that the root passes on.

use std::collections::BTreeMap;
use std::path::Path;

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens as _;

use super::source::{attributes, is_for_tests};

/// Names in the root, and where first.
pub(super) type Uses = BTreeMap<String, usize>;

/// In `use` and elsewhere, also inside of macros. `depth` is how far below the crate's root the file's module is.
pub(super) fn uses(file: &syn::File, depth: usize) -> Uses {
    let mut found = Uses::new();
    for item in file.items.iter().filter(|item| !is_for_tests(attributes(item))) {
        look(item.to_token_stream(), depth, &mut found);
    }
    found
}

/// `plan.rs` and `plan/mod.rs` are one below the root, `plan/task.rs` is two.
pub(super) fn depth(folder: &Path, path: &Path) -> usize {
    let below = path.strip_prefix(folder).map_or(0, |below| below.iter().count());
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    below - usize::from(matches!(stem, "mod" | "lib" | "main"))
}

fn look(tokens: TokenStream, depth: usize, found: &mut Uses) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Group(group) => {
                let inside = usize::from(is_module(&tokens[..at]));
                look(group.stream(), depth + inside, found);
            }
            TokenTree::Ident(ident) if *ident == "crate" && is_path(&tokens[at..]) => {
                named(tokens.get(at + 2), found);
            }
            TokenTree::Ident(ident) if *ident == "super" && is_path(&tokens[at..]) => {
                let mut up = 1;
                while is_super(&tokens[at + 2..]) {
                    (at, up) = (at + 3, up + 1);
                }
                if up == depth {
                    named(tokens.get(at + 2), found);
                }
            }
            _ => {}
        }
    }
}

/// Whether the last of these is the body of `mod name { … }`.
fn is_module(tokens: &[TokenTree]) -> bool {
    let [.., TokenTree::Ident(word), TokenTree::Ident(_), TokenTree::Group(_)] = tokens else { return false };
    *word == "mod"
}

fn is_super(tokens: &[TokenTree]) -> bool {
    matches!(tokens.first(), Some(TokenTree::Ident(ident)) if *ident == "super") && is_path(&tokens[1..])
}

fn named(token: Option<&TokenTree>, found: &mut Uses) {
    match token {
        Some(TokenTree::Ident(name)) => note(name, found),
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            firsts(group.stream()).iter().for_each(|name| note(name, found));
        }
        _ => {}
    }
}

fn is_path(tokens: &[TokenTree]) -> bool {
    let is_colon =
        |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    is_colon(tokens.first()) && is_colon(tokens.get(1))
}

/// The first name of each part of `{a, b::c}`.
fn firsts(tokens: TokenStream) -> Vec<Ident> {
    let mut firsts = Vec::new();
    let mut is_first = true;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if is_first => {
                firsts.push(ident);
                is_first = false;
            }
            TokenTree::Punct(punct) if punct.as_char() == ',' => is_first = true,
            _ => {}
        }
    }
    firsts
}

fn note(module: &Ident, found: &mut Uses) {
    found.entry(module.to_string()).or_insert(module.span().start().line);
}

/// What the crate's root passes on, and from which of its modules: `pub use plan::Task` makes `crate::Task` one of `plan`'s.
/// What a `*` passes on is not known here, and not in use.
pub(super) fn passed_on(root: &syn::File) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for item in &root.items {
        if let syn::Item::Use(item) = item
            && !is_for_tests(&item.attrs)
        {
            leaves(&item.tree, None, &mut found);
        }
    }
    found
}

fn leaves(tree: &syn::UseTree, module: Option<&Ident>, found: &mut BTreeMap<String, String>) {
    let mut add = |name: &Ident| {
        if let Some(module) = module {
            found.insert(name.to_string(), module.to_string());
        }
    };
    match tree {
        syn::UseTree::Path(path) if module.is_none() && (path.ident == "crate" || path.ident == "self") => {
            leaves(&path.tree, None, found);
        }
        syn::UseTree::Path(path) => leaves(&path.tree, Some(module.unwrap_or(&path.ident)), found),
        syn::UseTree::Name(name) => add(&name.ident),
        syn::UseTree::Rename(rename) => add(&rename.rename),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, module, found)),
        syn::UseTree::Glob(_) => {}
    }
}
