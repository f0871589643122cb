//! `conductor template`: built-in templates and the user's, filled in, and no file is overwritten.

use std::fs;

use crate::harness::World;

#[test]
fn ours_are_listed_and_make_files_that_are_valid() {
    let world = World::new();
    let json = world.conductor(&["template", "list", "--json"]).expect(0).json();
    let templates = json["templates"].as_array().unwrap();
    assert_eq!(templates.len(), 3);
    for template in templates {
        let name = template["name"].as_str().unwrap();
        let mut args =
            vec!["template".to_owned(), "new".into(), name.into(), "-o".into(), format!("{name}.yaml")];
        for variable in template["variables"].as_array().unwrap().iter().filter(|one| one["required"] == true)
        {
            args.push("--var".into());
            args.push(format!(
                "{}={}",
                variable["name"].as_str().unwrap(),
                "it's \"this\": # \\ ä".repeat(20)
            ));
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        world.conductor(&args).expect(0);
        world.conductor(&["validate", &format!("{name}.yaml")]).expect(0);
        assert!(world.read(&format!("{name}.yaml")).ends_with('\n'));
    }
    world.conductor(&["template", "list"]).expect(0).says("refactor").says("[verify]");
}

#[test]
fn what_is_missing_or_unknown_is_named() {
    let world = World::new();
    world
        .conductor(&["template", "new", "refactor"])
        .expect(2)
        .says("needs goal, target")
        .says("--var goal=…");
    world.conductor(&["template", "new", "test"]).expect(2).says("did you mean 'tests'?");
    let unknown = ["template", "new", "tests", "--var", "target=x", "--var", "verfy=y"];
    world.conductor(&unknown).expect(2).says("has no variable 'verfy'").says("did you mean 'verify'?");
    assert!(!world.path("tasks.yaml").exists());
}

#[test]
fn own_ones_come_first_and_go_through_the_same_checks() {
    let world = World::new();
    fs::create_dir_all(world.path(".conductor/templates")).unwrap();
    fs::create_dir_all(world.home().join("templates")).unwrap();
    fs::write(
        world.path(".conductor/templates/tests.yaml"),
        "# The house's\ntasks:\n{% for n in range(2) %}  - { id: t{{ n }}, run: {{ command }} }\n{% endfor %}",
    )
    .unwrap();
    fs::write(world.home().join("templates/mine.yaml"), "tasks: [{ id: a }]\n").unwrap();
    fs::write(world.home().join("templates/broken.yaml"), "tasks: {{ x\n").unwrap();
    let listed = world.conductor(&["template", "list"]).expect(0).stdout;
    assert!(
        listed.contains("The house's") && listed.contains("mine") && listed.contains("(cannot be read)"),
        "{listed}"
    );
    let made = world.conductor(&["template", "new", "tests", "--var", "command=make", "-o", "-"]).expect(0);
    assert_eq!(made.stdout, "# The house's\ntasks:\n  - { id: t0, run: make }\n  - { id: t1, run: make }\n");
    world.conductor(&["template", "new", "mine"]).expect(3).says("missing-work");
    world.conductor(&["template", "new", "broken"]).expect(3).says("template 'broken'").says("line 1");
    assert!(!world.path("tasks.yaml").exists());
}

#[test]
fn nothing_is_written_over() {
    let world = World::with("mine");
    let refused = world.conductor(&["template", "new", "tests", "--var", "target=x"]).expect(2);
    refused.says("is there already").says("-o OTHER.yaml, or over this one with --force");
    assert_eq!(world.read("tasks.yaml"), "mine");
    world.conductor(&["template", "new", "tests", "--var", "target=x", "--force"]).expect(0);
    assert!(world.read("tasks.yaml").contains("Write tests for x"));
}
