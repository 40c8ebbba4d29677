package docs

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Block is a fenced block of a page.
type Block struct {
	Page string
	Line int    // of the first line inside
	Lang string // after the opening fence
	Text string
}

// File returns the name in the first line of a Go block, "" if there is none.
func (b Block) File() string {
	first, _, _ := strings.Cut(b.Text, "\n")
	name, ok := strings.CutPrefix(first, "// ")
	if b.Lang != "go" || !ok || !strings.HasSuffix(name, ".go") || strings.Contains(name, " ") {
		return ""
	}
	return name
}

// Command is a command in a console block and what it prints.
type Command struct {
	Line   int
	Args   []string
	Output string // lines; … stands for anything within a line
}

// Blocks returns the fenced blocks of a page.
func Blocks(page string) ([]Block, error) {
	f, err := os.Open(page)
	if err != nil {
		return nil, fmt.Errorf("reading page: %w", err)
	}
	defer f.Close()
	var out []Block
	var text strings.Builder
	inside := false
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		line := s.Text()
		switch {
		case strings.HasPrefix(line, "```") && !inside:
			inside = true
			out = append(out, Block{Page: page, Line: n + 1, Lang: strings.TrimPrefix(line, "```")})
			text.Reset()
		case line == "```":
			inside = false
			out[len(out)-1].Text = text.String()
		case inside:
			text.WriteString(line + "\n")
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("reading page: %w", err)
	}
	if inside {
		return nil, fmt.Errorf("%s:%d: block without end", page, out[len(out)-1].Line)
	}
	return out, nil
}

// Commands returns the commands of a console block.
func (b Block) Commands() []Command {
	if b.Lang != "console" {
		return nil
	}
	var out []Command
	n := b.Line
	for line := range strings.Lines(b.Text) {
		if c, ok := strings.CutPrefix(line, "$ "); ok {
			out = append(out, Command{Line: n, Args: strings.Fields(c)})
		} else if len(out) > 0 {
			out[len(out)-1].Output += line
		}
		n++
	}
	return out
}

// Matches reports whether the command printed what the page says.
func (c Command) Matches(output string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(c.Output), "…", ".*")
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(output)
}

// code is what Markdown does not read: fenced and indented blocks, and words
// in backquotes.
var code = regexp.MustCompile("(?ms)^```.*?^```$|^(?:\t|    )[^\n]*$|`[^`\n]*`")

var link = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

// links returns the files that a page links to.
func links(text string) []string {
	var out []string
	for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
		out = append(out, m[1])
	}
	return out
}

// wide returns the lines of prose of a page, by number, that have more than 100 columns.
func wide(text string) map[int]string {
	list := map[int]string{}
	fenced := false
	for i, line := range strings.Split(text, "\n") {
		start := strings.TrimSpace(line)
		if strings.HasPrefix(start, "```") {
			fenced = !fenced
		}
		code := fenced || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
		if !code && utf8.RuneCountInString(line) > 100 && !strings.ContainsAny(start[:1], "|<#[") {
			list[i+1] = line
		}
	}
	return list
}
