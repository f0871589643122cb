//! A migration that is added or changed is compiled in, though no source file changed with it.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
