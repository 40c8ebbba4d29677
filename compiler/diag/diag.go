package diag

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Position is a position in source text. Lines and columns count from 1; columns
// count bytes. A Line of 0 means the file as a whole.
type Position struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
}

// String returns file:line:col, without the parts that are not known.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Diagnostic is one mistake in a kernel.
type Diagnostic struct {
	Pos  Position `json:"pos"`
	Code Code     `json:"code"`
	Msg  string   `json:"msg"`
	Note string   `json:"note,omitempty"` // why it is a mistake here
	Fix  string   `json:"fix,omitempty"`  // the way out
}

// New returns a diagnostic with the fix that the table gives for its code.
func New(pos Position, code Code, msg, note string) Diagnostic {
	d := Diagnostic{Pos: pos, Code: code, Msg: msg, Note: note}
	if row := Lookup(code); row != nil {
		d.Fix = row.Fix
	}
	return d
}

// Error returns the diagnostic as one line, with the way out: programs print
// errors by it.
func (d Diagnostic) Error() string {
	if d.Fix == "" {
		return d.what()
	}
	return fmt.Sprintf("%s (%s)", d.what(), d.Fix)
}

// what is the diagnostic without its way out.
func (d Diagnostic) what() string { return fmt.Sprintf("%s: %s: %s", d.Pos, d.Code, d.Msg) }

// Format prints the note and the fix on lines of their own with %+v.
func (d Diagnostic) Format(f fmt.State, verb rune) {
	if verb != 'v' || !f.Flag('+') {
		io.WriteString(f, d.Error())
		return
	}
	io.WriteString(f, d.what())
	if d.Note != "" {
		fmt.Fprintf(f, "\n\tnote: %s", d.Note)
	}
	if d.Fix != "" {
		fmt.Fprintf(f, "\n\tfix: %s", d.Fix)
	}
}

func compare(a, b Diagnostic) int {
	return cmp.Or(
		cmp.Compare(a.Pos.File, b.Pos.File),
		cmp.Compare(a.Pos.Line, b.Pos.Line),
		cmp.Compare(a.Pos.Col, b.Pos.Col),
		cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Msg, b.Msg),
	)
}

// List is a set of diagnostics; it is an error.
type List []Diagnostic

// Add appends d.
func (l *List) Add(d Diagnostic) { *l = append(*l, d) }

// Sorted returns the diagnostics in order of position, each once. Two that
// differ only in note or fix count as one.
func (l List) Sorted() List {
	out := slices.Clone(l)
	slices.SortStableFunc(out, compare)
	return slices.CompactFunc(out, func(a, b Diagnostic) bool { return compare(a, b) == 0 })
}

// Err returns the sorted list as an error, nil if it is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l.Sorted()
}

// Error returns one line for each diagnostic.
func (l List) Error() string {
	if len(l) == 0 {
		return "no errors"
	}
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Format prints notes and fixes too with %+v.
func (l List) Format(f fmt.State, verb rune) {
	if verb != 'v' || !f.Flag('+') {
		io.WriteString(f, l.Error())
		return
	}
	for i, d := range l {
		if i > 0 {
			io.WriteString(f, "\n")
		}
		fmt.Fprintf(f, "%+v", d)
	}
}
