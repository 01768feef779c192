//! Tells cargo that the rule files are built in, so that adding one rebuilds the program.

fn main() {
    println!("cargo::rerun-if-changed=rules");
}
