//! A shell's command line, read as far as rules need it: which commands it runs, and which files it plainly writes.
//!
//! It is no shell. What a variable, an alias or a script stands for is not known here.

/// Words that only lead up to a command, which may follow after options of theirs.
const WRAPPERS: [&str; 14] = [
    "sudo", "doas", "env", "exec", "command", "builtin", "nohup", "setsid", "nice", "ionice", "time",
    "timeout", "stdbuf", "xargs",
];

/// Words of the language before a command.
const KEYWORDS: [&str; 10] = ["if", "then", "elif", "else", "while", "until", "do", "!", "{", "}"];

const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];

/// One command of a line, without what it is combined with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Simple {
    /// As it was written, with its redirections.
    pub text: String,
    words: Vec<Word>,
    /// Files that its redirections write to.
    written: Vec<Word>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Word {
    /// Without quotes.
    value: String,
    /// Nothing in it stands for something else.
    plain: bool,
}

/// Every command that a line runs, those in substitutions and in scripts of `sh -c` too.
pub fn commands(line: &str) -> Vec<Simple> {
    let mut open = vec![line.to_owned()];
    let mut found = Vec::new();
    while let Some(text) = open.pop() {
        let mut reader = Reader::new(&text);
        reader.read();
        for command in &reader.commands {
            open.extend(command.script().filter(|script| script.len() < text.len()));
        }
        open.extend(reader.substitutions.into_iter().filter(|inner| inner.len() < text.len()));
        found.extend(reader.commands);
    }
    found
}

/// The script, where all that a line does is to have another shell run one.
pub fn unwrapped(line: &str) -> String {
    let mut reader = Reader::new(line);
    reader.read();
    let script = match &reader.commands[..] {
        [only] if only.written.is_empty() => only.script(),
        _ => None,
    };
    script.unwrap_or_else(|| line.to_owned())
}

/// Every way in which a rule can name one of the commands of a line: as it is written, in plain words, by the program's
/// bare name, and without what leads up to it. The line itself comes first.
pub fn forms(line: &str) -> Vec<String> {
    let mut forms = vec![line.to_owned()];
    for command in commands(line) {
        forms.push(command.text.clone());
        for words in command.tails() {
            let said: Vec<&str> = words.iter().map(|word| word.value.as_str()).collect();
            let said = said.join(" ");
            let name = words.first().map_or(0, |word| word.value.rfind('/').map_or(0, |at| at + 1));
            forms.extend(said.get(name..).filter(|_| name > 0).map(str::to_owned));
            forms.push(said);
        }
    }
    forms.sort_unstable();
    forms.dedup();
    let line = forms.iter().position(|form| form == line).unwrap_or_default();
    forms.swap(0, line);
    forms
}

/// The files a line plainly writes, removes or makes, as seen from where it starts. What cannot be told without running
/// it is left out.
pub fn written(line: &str) -> Vec<String> {
    let mut files = Vec::new();
    // Where it is by now; nothing once that cannot be told.
    let mut place = Some(String::new());
    for command in commands(line) {
        let targets = command.written.iter().cloned().chain(command.targets());
        for file in targets.filter(|file| file.plain && !file.value.is_empty()) {
            files.extend(joined(place.as_deref(), &file.value));
        }
        if let Some(there) = command.goes_to() {
            place = there.plain.then(|| joined(place.as_deref(), &there.value)).flatten();
        }
    }
    files
}

fn joined(place: Option<&str>, path: &str) -> Option<String> {
    match (path.starts_with(['/', '~']), place) {
        (true, _) | (_, Some("")) => Some(path.to_owned()),
        (false, Some(place)) => Some(format!("{}/{path}", place.trim_end_matches('/'))),
        (false, None) => None,
    }
}

impl Simple {
    /// Its words, and those that are left where it leads up to another command.
    fn tails(&self) -> Vec<&[Word]> {
        let words = self.bare();
        let mut tails = vec![words];
        if words.first().is_some_and(|first| WRAPPERS.contains(&base(&first.value))) {
            tails.extend((1..words.len()).map(|from| &words[from..]));
        }
        tails
    }

    /// Its words without assignments and keywords before them.
    fn bare(&self) -> &[Word] {
        let leads = |word: &Word| is_assignment(&word.value) || KEYWORDS.contains(&word.value.as_str());
        let from = self.words.iter().position(|word| !leads(word)).unwrap_or(self.words.len());
        &self.words[from..]
    }

    /// The script that it has another shell run.
    fn script(&self) -> Option<String> {
        self.tails().into_iter().find_map(|words| {
            let (first, rest) = words.split_first()?;
            if base(&first.value) == "eval" {
                let said: Vec<&str> = rest.iter().map(|word| word.value.as_str()).collect();
                return Some(said.join(" "));
            }
            let is_script = |word: &Word| {
                word.value.starts_with('-') && !word.value.starts_with("--") && word.value.ends_with('c')
            };
            let option = rest.iter().position(is_script).filter(|_| SHELLS.contains(&base(&first.value)))?;
            rest.get(option + 1).map(|word| word.value.clone())
        })
    }

    /// The folder it goes to.
    fn goes_to(&self) -> Option<Word> {
        let (first, rest) = self.bare().split_first()?;
        let home = || Word { value: "~".to_owned(), plain: true };
        (first.value == "cd")
            .then(|| rest.iter().find(|word| word.value != "--").cloned().unwrap_or_else(home))
    }

    /// The files that its arguments say it writes.
    fn targets(&self) -> Vec<Word> {
        let Some((first, rest)) = self.bare().split_first() else { return Vec::new() };
        let files = || rest.iter().filter(|word| !word.value.starts_with('-')).cloned();
        match base(&first.value) {
            "tee" | "touch" | "mkdir" | "rm" | "rmdir" | "truncate" => files().collect(),
            "mv" => files().collect(),
            "cp" | "ln" | "install" => files().next_back().into_iter().collect(),
            "dd" => rest.iter().filter_map(|word| word.after("of=")).collect(),
            _ => Vec::new(),
        }
    }
}

impl Word {
    fn after(&self, prefix: &str) -> Option<Word> {
        self.value.strip_prefix(prefix).map(|value| Word { value: value.to_owned(), ..self.clone() })
    }
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn is_assignment(word: &str) -> bool {
    let named = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    word.split_once('=').is_some_and(|(name, _)| named(name))
}

/// What the next word is, once it is whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Argument,
    /// A file that is written to.
    Written,
    /// A file that is read, or the text between a document's ends.
    Aside,
    /// The end of a document in the lines that follow.
    Document,
}

struct Reader<'a> {
    text: &'a str,
    chars: Vec<(usize, char)>,
    at: usize,
    /// Where the command at hand begins.
    from: usize,
    command: Simple,
    word: Option<Word>,
    next: Next,
    /// Ends of documents that begin with the next line.
    documents: Vec<String>,
    commands: Vec<Simple>,
    substitutions: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Reader<'a> {
        Reader {
            text,
            chars: text.char_indices().collect(),
            at: 0,
            from: 0,
            command: Simple::default(),
            word: None,
            next: Next::Argument,
            documents: Vec::new(),
            commands: Vec::new(),
            substitutions: Vec::new(),
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).map(|(_, c)| *c)
    }

    /// Where in the text it is.
    fn offset(&self) -> usize {
        self.chars.get(self.at).map_or(self.text.len(), |(offset, _)| *offset)
    }

    fn read(&mut self) {
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' => self.end_word(1),
                '\n' => {
                    self.end_command(1);
                    self.skip_documents();
                }
                '#' if self.word.is_none() => self.skip_line(),
                '\'' => self.quoted(),
                '"' => self.double_quoted(),
                '\\' => self.escaped(),
                '&' if self.peek(1) == Some('>') => self.redirect(2, Next::Written),
                '>' => self.output(),
                '<' => self.input(),
                ';' | '&' | '|' | '(' | ')' => self.end_command(1),
                '`' => self.substitute('`'),
                '$' if self.peek(1) == Some('(') => self.substitute('('),
                c => self.push(c, !matches!(c, '$' | '*' | '?' | '[')),
            }
        }
        self.end_command(0);
    }

    fn push(&mut self, c: char, plain: bool) {
        let word = self.word.get_or_insert_with(|| Word { value: String::new(), plain: true });
        word.value.push(c);
        word.plain &= plain;
        self.at += 1;
    }

    fn end_word(&mut self, skipped: usize) {
        if let Some(word) = self.word.take() {
            match std::mem::replace(&mut self.next, Next::Argument) {
                Next::Argument => self.command.words.push(word),
                Next::Written => self.command.written.push(word),
                Next::Aside => {}
                Next::Document => self.documents.push(word.value),
            }
        }
        self.at += skipped;
    }

    fn end_command(&mut self, skipped: usize) {
        self.end_word(0);
        let text = self.text[self.from..self.offset()].trim().to_owned();
        let command = std::mem::take(&mut self.command);
        if !command.words.is_empty() || !command.written.is_empty() {
            self.commands.push(Simple { text, ..command });
        }
        self.at += skipped;
        self.from = self.offset();
    }

    fn skip_line(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    fn quoted(&mut self) {
        self.begin_word();
        self.at += 1;
        while let Some(c) = self.peek(0).filter(|c| *c != '\'') {
            self.push(c, true);
        }
        self.at += 1;
    }

    fn double_quoted(&mut self) {
        self.begin_word();
        self.at += 1;
        while let Some(c) = self.peek(0).filter(|c| *c != '"') {
            match c {
                '\\' if matches!(self.peek(1), Some('"' | '\\' | '$' | '`')) => self.escaped(),
                '$' if self.peek(1) == Some('(') => self.substitute('('),
                '`' => self.substitute('`'),
                c => self.push(c, c != '$'),
            }
        }
        self.at += 1;
    }

    fn escaped(&mut self) {
        self.at += 1;
        match self.peek(0) {
            Some('\n') => self.at += 1,
            Some(c) => self.push(c, true),
            None => {}
        }
    }

    fn begin_word(&mut self) {
        self.word.get_or_insert_with(|| Word { value: String::new(), plain: true });
    }

    /// A command whose output takes its place: it is read by itself.
    fn substitute(&mut self, opening: char) {
        self.begin_word();
        if let Some(word) = &mut self.word {
            word.plain = false;
        }
        self.at += if opening == '(' { 2 } else { 1 };
        let from = self.offset();
        let mut depth = 1;
        while let Some(c) = self.peek(0) {
            match (c, opening) {
                ('\\', _) => self.at += 1,
                ('(', '(') => depth += 1,
                (')', '(') | ('`', '`') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            self.at += 1;
        }
        self.substitutions.push(self.text[from..self.offset().max(from)].to_owned());
        self.at += 1;
    }

    fn output(&mut self) {
        match (self.peek(1), self.peek(2)) {
            (Some('('), _) => self.end_command(2),
            // Another of its own outputs, such as `2>&1`.
            (Some('&'), Some(c)) if c.is_ascii_digit() || c == '-' => {
                self.redirect(2, Next::Aside);
            }
            (Some('>' | '|' | '&'), _) => self.redirect(2, Next::Written),
            _ => self.redirect(1, Next::Written),
        }
    }

    fn input(&mut self) {
        match (self.peek(1), self.peek(2)) {
            (Some('('), _) => self.end_command(2),
            (Some('<'), Some('<')) => self.redirect(3, Next::Aside),
            (Some('<'), Some('-')) => self.redirect(3, Next::Document),
            (Some('<'), _) => self.redirect(2, Next::Document),
            (Some('>'), _) => self.redirect(2, Next::Written),
            (Some('&'), _) => self.redirect(2, Next::Aside),
            _ => self.redirect(1, Next::Aside),
        }
    }

    /// The number of what is redirected is no argument.
    fn redirect(&mut self, length: usize, next: Next) {
        if self.word.as_ref().is_some_and(|word| word.value.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word(length);
        if self.peek(0) == Some('>') && next == Next::Written {
            self.at += 1;
        }
        self.next = next;
    }

    /// Lines that are a text for the command before them. Substitutions in them are run all the same.
    fn skip_documents(&mut self) {
        for end in std::mem::take(&mut self.documents) {
            loop {
                let from = self.offset();
                self.skip_line();
                let line = &self.text[from..self.offset()];
                let is_last = line.trim_start_matches('\t') == end || self.peek(0).is_none();
                if let Some(at) = line.find("$(") {
                    self.substitutions.push(line[at + 2..].trim_end_matches(')').to_owned());
                }
                self.at += 1;
                if is_last {
                    break;
                }
            }
        }
        self.from = self.offset();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn names(line: &str, form: &str) {
        assert!(forms(line).iter().any(|found| found == form), "{line}: {:?}", forms(line));
    }

    #[test]
    fn a_command_is_found_however_it_is_wrapped() {
        for line in [
            "terraform apply",
            "terraform   apply",
            "cd infra && terraform apply",
            "cd infra; terraform apply; ls",
            "true | terraform apply",
            "(terraform apply)",
            "echo $(terraform apply)",
            "echo \"$(terraform apply)\"",
            "echo `terraform apply`",
            "/usr/bin/terraform apply",
            "./terraform apply",
            "\"terraform\" 'apply'",
            "TF_LOG=1 terraform apply",
            "sudo -u x terraform apply",
            "timeout 5 terraform apply",
            "bash -lc 'cd x && terraform apply'",
            "sh -c \"sh -c 'terraform apply'\"",
            "eval 'terraform apply'",
            "if true; then terraform apply; fi",
            "terraform apply > out.txt 2>&1",
            "cat <<EOF\n$(terraform apply)\nEOF",
            "echo a &\nterraform apply &",
        ] {
            names(line, "terraform apply");
        }
    }

    #[test]
    fn what_is_only_said_is_no_command() {
        for line in [
            "echo 'terraform apply'",
            "echo terraform apply",
            "git commit -m 'x; terraform apply'",
            "# terraform apply",
            "cat > notes.md <<EOF\nterraform apply\nEOF",
            "cat > notes.md <<'EOF'\nterraform apply\nEOF\nls",
        ] {
            assert!(!forms(line).iter().any(|form| form == "terraform apply"), "{line}: {:?}", forms(line));
        }
        names("cat > notes.md <<'EOF'\ntext\nEOF\nls -l", "ls -l");
        assert_eq!(forms("cd x && ls")[0], "cd x && ls", "the line itself comes first");
    }

    #[test]
    fn a_script_is_taken_out_of_the_shell_that_runs_it() {
        assert_eq!(unwrapped(r#"/bin/bash -lc "echo 'a b' && ls""#), "echo 'a b' && ls");
        assert_eq!(unwrapped("/bin/bash -lc 'ls' > x"), "/bin/bash -lc 'ls' > x");
        assert_eq!(unwrapped("ls -c"), "ls -c");
    }

    #[test]
    fn files_that_are_plainly_written_are_named() {
        for (line, files) in [
            ("echo x > /etc/a", &["/etc/a"][..]),
            ("echo x >> ../a", &["../a"]),
            ("echo x>'/a b'", &["/a b"]),
            ("ls &> /a", &["/a"]),
            ("ls 2> /a", &["/a"]),
            ("ls >| /a", &["/a"]),
            ("ls | tee -a /a b", &["/a", "b"]),
            ("cp a b /c", &["/c"]),
            ("mv /a b", &["/a", "b"]),
            ("dd if=/x of=/y", &["/y"]),
            ("cd /srv && echo x > a", &["/srv/a"]),
            ("cd .. && cd b; touch c", &["../b/c"]),
            ("bash -c 'echo x > /a'", &["/a"]),
            ("echo x > ~/a", &["~/a"]),
            ("cat < /a", &[]),
            ("ls 2>&1", &[]),
            ("ls >&2", &[]),
            ("echo '> /a'", &[]),
            ("echo x > $HOME/a", &[]),
            ("cd $X && echo x > a", &[]),
            ("cat <<EOF\n> /a\nEOF", &[]),
        ] {
            assert_eq!(written(line), files, "{line}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_can_be_read(line in "[a-z /;&|()<>'\"\\\\$`#\n~{}0-9é-]{0,60}") {
            let _ = (forms(&line), written(&line));
        }
    }
}
