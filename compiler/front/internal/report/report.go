package report

import (
	"fmt"
	"go/token"

	"github.com/gokiln/kiln/compiler/diag"
)

// Sink takes the diagnostics of a compilation, whose positions are those of its files.
type Sink struct {
	Fset  *token.FileSet
	Diags diag.List
	At    token.Pos // what is being compiled, for internal errors

	added map[*token.File]bool
}

// NewSink returns a sink without files.
func NewSink() Sink {
	return Sink{Fset: token.NewFileSet(), added: map[*token.File]bool{}}
}

// Report adds a diagnostic at pos.
func (s *Sink) Report(pos token.Pos, code diag.Code, note, format string, args ...any) {
	s.Diags.Add(diag.New(s.Position(pos), code, fmt.Sprintf(format, args...), note))
}

// ReportFix is Report with a fix that suits the position better than the general one, which "" is.
func (s *Sink) ReportFix(pos token.Pos, code diag.Code, fix, format string, args ...any) {
	d := diag.New(s.Position(pos), code, fmt.Sprintf(format, args...), "")
	if fix != "" {
		d.Fix = fix
	}
	s.Diags.Add(d)
}

// Position returns pos as people read it.
func (s *Sink) Position(pos token.Pos) diag.Position {
	p := s.Fset.Position(pos)
	return diag.Position{File: p.Filename, Line: p.Line, Col: p.Column}
}

// AddFile makes the positions of a file known.
func (s *Sink) AddFile(f *token.File) {
	if f != nil && !s.added[f] {
		s.added[f] = true
		s.Fset.AddExistingFiles(f)
	}
}
