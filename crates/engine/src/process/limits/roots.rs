//! Where the groups of a run's attempts are made: a folder of ours in the tree of control groups, or one in each of the
//! older trees. Attempts are beside their coordinator's group, not in it: a group that has limits to hand on holds no process.
//!
//! Like the coordinator's own group it is written down in the run's folder before it is made: what is in there when a
//! coordinator was killed is ended by its reaper, or by the next coordinator, which removes it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use conductor_core::plan::TaskLimits;
use conductor_core::values::ids::RunId;
use rustix::io::Errno;

use super::super::{children, control_group};
use super::groups::{Controller, Group, Part, Version};
use super::scope;

/// What is behind the coordinator's name in the name of such a folder.
const LIMITS: &str = "+limits";

#[derive(Debug)]
pub(in super::super) struct Roots {
    version: Version,
    roots: Vec<Root>,
    next: AtomicU64,
}

#[derive(Debug)]
struct Root {
    folder: PathBuf,
    controllers: Vec<Controller>,
    note: Option<PathBuf>,
}

impl Roots {
    /// In whichever trees limit more; the single one where both do the same. Why not, where there are none.
    pub(in super::super) fn make(run: &RunId, note_folder: Option<&Path>) -> Result<Roots, String> {
        let name = format!("conductor-{run}-{}{LIMITS}", children::us());
        let mut two = in_single_tree(run, &name, note_folder);
        if let Err(why) = &two {
            two = match scope::enter() {
                Ok(()) => in_single_tree(run, &name, note_folder),
                Err(of_scope) => Err(format!("{why}; {of_scope}")),
            };
        }
        if two.as_ref().is_ok_and(|roots| roots.controllers().count() == Controller::ALL.len()) {
            return two;
        }
        let one = in_older_trees(&name, note_folder);
        match (one, two) {
            (Ok(one), Ok(two)) if one.controllers().count() > two.controllers().count() => Ok(one),
            (_, Ok(two)) => Ok(two),
            (Ok(one), Err(_)) => Ok(one),
            (Err(one), Err(two)) => Err(match older_trees().is_empty() {
                true => two,
                false => format!("{two}; {one}"),
            }),
        }
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }

    pub(super) fn controllers(&self) -> impl Iterator<Item = Controller> + '_ {
        self.roots.iter().flat_map(|root| root.controllers.iter().copied())
    }

    /// A group for one attempt. Nothing where it has no limit that a group would bring about.
    pub(super) fn group(&self, limits: &TaskLimits) -> io::Result<Option<Group>> {
        let number = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        let is_of_use = |root: &&Root| {
            root.controllers.iter().any(|controller| limits.get(controller.resource()).is_some())
        };
        let part =
            |root: &Root| Part { folder: root.folder.join(&number), controllers: root.controllers.clone() };
        let parts: Vec<Part> = self.roots.iter().filter(is_of_use).map(part).collect();
        if parts.is_empty() {
            return Ok(None);
        }
        Group::make(self.version, parts, limits).map(Some)
    }
}

impl Drop for Roots {
    fn drop(&mut self) {
        self.roots.iter().for_each(Root::remove);
    }
}

impl Root {
    fn make(base: &Path, name: &str, note: Option<PathBuf>) -> io::Result<Root> {
        let folder = base.join(name);
        control_group::remove_abandoned(base);
        if let Some(note) = &note {
            control_group::note_down(note, &folder)?;
        }
        let root = Root { folder, controllers: Vec::new(), note };
        let made = match fs::create_dir(&root.folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        };
        if made.is_err() {
            root.remove();
        }
        made.map(|()| root)
    }

    /// What could not be removed stays written down.
    fn remove(&self) {
        if let (true, Some(note)) = (control_group::remove(&self.folder), &self.note) {
            let _ = fs::remove_file(note);
        }
    }
}

fn note(folder: Option<&Path>, tree: &str) -> Option<PathBuf> {
    folder.map(|folder| folder.join(format!("{}{}+{tree}", control_group::NOTE, children::us())))
}

/// The group that this process is in is handed on, or one around it.
fn in_single_tree(run: &RunId, name: &str, note_folder: Option<&Path>) -> Result<Roots, String> {
    let Some(here) = control_group::current() else { return Err("there are no control groups".into()) };
    let mut why = String::new();
    for base in bases(&here, run) {
        match in_group(&base, name, note_folder) {
            Ok(root) => {
                let roots = vec![root];
                return Ok(Roots { version: Version::Two, roots, next: AtomicU64::new(1) });
            }
            Err(error) if why.is_empty() => why = format!("{}: {error}", base.display()),
            Err(_) => {}
        }
    }
    Err(why)
}

/// Where attempts may be: beside us, and beside the coordinator of the same run. Above that only where no systemd sees to the
/// groups there; and never outside of what another conductor has put us into.
fn bases(here: &Path, run: &RunId) -> Vec<PathBuf> {
    let us = children::us();
    let of_run = format!("conductor-{run}-");
    let is_ours = |group: &Path| {
        let name = group.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_of_run = name.starts_with(&of_run) && !name.ends_with(LIMITS);
        is_of_run
            || control_group::is_room(group)
            || control_group::coordinator_of(group).is_some_and(|name| name == us)
    };
    let outside = here.ancestors().find(|group| !is_ours(group)).unwrap_or(here);
    if control_group::is_in_anothers(outside) || scope::has_systemd() {
        return vec![outside.to_owned()];
    }
    let is_group = |folder: &&Path| folder.join(control_group::PROCESSES).exists();
    outside.ancestors().take_while(is_group).map(Path::to_owned).collect()
}

fn in_group(base: &Path, name: &str, note_folder: Option<&Path>) -> Result<Root, String> {
    let offered = fs::read_to_string(base.join("cgroup.controllers")).map_err(|error| error.to_string())?;
    let is_offered =
        |controller: &Controller| offered.split_whitespace().any(|name| name == controller.name());
    let offered: Vec<Controller> = Controller::ALL.into_iter().filter(is_offered).collect();
    if offered.is_empty() {
        return Err("the system hands no limits on to it".into());
    }
    let mut root = Root::make(base, name, note(note_folder, "limits")).map_err(|error| error.to_string())?;
    let mut why = String::new();
    for controller in offered {
        match hand_on(base, controller).and_then(|()| write_down(&root.folder, controller)) {
            Ok(()) => root.controllers.push(controller),
            Err(error) => why = format!("limits of {} cannot be handed on: {error}", controller.name()),
        }
    }
    match root.controllers.is_empty() {
        false => Ok(root),
        true => {
            root.remove();
            Err(why)
        }
    }
}

fn write_down(group: &Path, controller: Controller) -> io::Result<()> {
    fs::write(group.join("cgroup.subtree_control"), format!("+{}", controller.name()))
}

/// A group with processes in it hands nothing on, so what is ours of them makes room.
fn hand_on(base: &Path, controller: Controller) -> io::Result<()> {
    match write_down(base, controller) {
        Err(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => {
            control_group::make_room(base)?;
            write_down(base, controller)
        }
        done => done,
    }
}

/// Each of the older trees that is mounted: its controller, and the group of it that this process is in.
fn older_trees() -> Vec<(Controller, PathBuf)> {
    let find = |controller: Controller| Some((controller, control_group::current_of(controller.name())?));
    Controller::ALL.into_iter().filter_map(find).collect()
}

fn in_older_trees(name: &str, note_folder: Option<&Path>) -> Result<Roots, String> {
    let mut roots: Vec<Root> = Vec::new();
    let mut why = String::from("there are no older control groups");
    for (controller, base) in older_trees() {
        // Two controllers may share a tree.
        if let Some(root) = roots.iter_mut().find(|root| root.folder.starts_with(&base)) {
            root.controllers.push(controller);
            continue;
        }
        match Root::make(&base, name, note(note_folder, controller.name())) {
            Ok(root) => roots.push(Root { controllers: vec![controller], ..root }),
            Err(error) => why = format!("{}: {error}", base.display()),
        }
    }
    match roots.is_empty() {
        true => Err(why),
        false => Ok(Roots { version: Version::One, roots, next: AtomicU64::new(1) }),
    }
}
