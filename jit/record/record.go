package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/internal/atomicfile"
)

// Spec is one specialisation of a kernel.
type Spec struct {
	Kernel  string           `json:"kernel"`        // import path and function
	Sig     string           `json:"sig,omitempty"` // as in [input.Request]
	Consts  map[string]int64 `json:"consts,omitempty"`
	Funcs   map[string]Func  `json:"funcs,omitempty"`
	Builds  []string         `json:"builds,omitempty"`  // variants, such as "small,aligned" or "checked"; none stands for those that are made by default
	Targets []string         `json:"targets,omitempty"` // it was used for, such as "ptx:sm_90"
}

// Func is a [input.Func].
type Func struct {
	Pkg  string `json:"pkg"`
	Name string `json:"name,omitempty"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
	Sig  string `json:"sig,omitempty"`
}

// Of returns what a request asks for.
func Of(req input.Request) Spec {
	s := Spec{Kernel: req.Pkg + "." + req.Func, Sig: req.Sig, Consts: req.Consts}
	for name, f := range req.Funcs {
		if s.Funcs == nil {
			s.Funcs = map[string]Func{}
		}
		s.Funcs[name] = Func(f)
	}
	return s
}

// Request returns the request for the compiler.
func (s *Spec) Request() (input.Request, error) {
	// Import paths may have dots, the name of a function has none.
	dot := strings.LastIndexByte(s.Kernel, '.')
	if dot <= strings.LastIndexByte(s.Kernel, '/')+1 || dot == len(s.Kernel)-1 {
		return input.Request{}, fmt.Errorf("kernel %q: want an import path, a dot and a name", s.Kernel)
	}
	req := input.Request{Pkg: s.Kernel[:dot], Func: s.Kernel[dot+1:], Sig: s.Sig, Consts: s.Consts}
	for name, f := range s.Funcs {
		if req.Funcs == nil {
			req.Funcs = map[string]input.Func{}
		}
		req.Funcs[name] = input.Func(f)
	}
	return req, nil
}

// identity tells specialisations apart, whatever they were used for.
func (s Spec) identity() string {
	s.Builds, s.Targets = nil, nil
	return s.String()
}

// String returns the line of the specialisation.
func (s Spec) String() string { return text(s) }

// Set is specialisations, each once, and choices.
type Set struct {
	specs   map[string]Spec
	choices map[string]Choice

	last     string // line that was read, as far as it is sorted by
	unsorted bool   // lines that were read were not in order, or twice the same
}

// Add adds a specialisation, or what is new of its builds and targets. It reports
// whether something was.
func (r *Set) Add(s Spec) bool {
	if r.specs == nil {
		r.specs = map[string]Spec{}
	}
	id := s.identity()
	have, ok := r.specs[id]
	if !ok {
		have = s
		have.Builds, have.Targets = nil, nil
	}
	builds, targets := union(have.Builds, s.Builds), union(have.Targets, s.Targets)
	if ok && len(builds) == len(have.Builds) && len(targets) == len(have.Targets) {
		return false
	}
	have.Builds, have.Targets = builds, targets
	r.specs[id] = have
	return true
}

func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// Specs returns the specialisations in order.
func (r *Set) Specs() []Spec { return inOrder(r.specs) }

func inOrder[T any](m map[string]T) []T {
	out := make([]T, 0, len(m))
	for _, id := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[id])
	}
	return out
}

// Drop takes out what was recorded for a target, and the specialisations that are for no other.
func (r *Set) Drop(target string) {
	for id, s := range r.specs {
		if i := slices.Index(s.Targets, target); i >= 0 {
			s.Targets = slices.Delete(slices.Clone(s.Targets), i, i+1)
			if r.specs[id] = s; len(s.Targets) == 0 {
				delete(r.specs, id)
			}
		}
	}
}

// ReadFrom adds a record; the name is for errors.
func (r *Set) ReadFrom(name string, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		if err := r.addLine(text); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (r *Set) addLine(line []byte) error {
	if isChoice(line) {
		c, err := ParseChoice(line)
		if err == nil {
			r.follows("choice " + c.identity())
			r.AddChoice(c)
		}
		return err
	}
	s, err := Parse(line)
	if err == nil {
		r.follows("a kernel " + s.identity()) // in front of choices
		r.Add(s)
	}
	return err
}

// follows notes whether a line comes behind the one before.
func (r *Set) follows(line string) {
	r.unsorted = r.unsorted || line <= r.last
	r.last = line
}

// Parse reads the line of a specialisation.
func Parse(line []byte) (s Spec, err error) {
	if err := parse(line, &s); err != nil {
		return s, err
	}
	_, err = s.Request()
	return s, err
}

// header is the first line of a file.
const header = "# Kernels that a program used; kiln prebuild -from compiles them.\n"

// Text returns the record as a file has it.
func (r *Set) Text() []byte {
	b := []byte(header)
	for _, s := range r.Specs() {
		b = append(append(b, s.String()...), '\n')
	}
	for _, c := range r.Choices() {
		b = append(append(b, c.String()...), '\n')
	}
	return b
}

// Load adds the record in a file; none is an empty one.
func (r *Set) Load(name string) error {
	text, err := atomicfile.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return r.ReadFrom(name, bytes.NewReader(whole(text)))
}

// Save writes the record to a file, which is there whole or as it was.
func (r *Set) Save(name string) error {
	err := atomicfile.Write(name, 0o644, func(f io.Writer) error { _, err := f.Write(r.Text()); return err })
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

const (
	// lockWait is for how long Update waits for others, who may be many.
	lockWait = 30 * time.Second

	// updateTries bounds how often Update begins again because another host was faster.
	updateTries = 10
)

// Update adds to the record in a file, which several processes may do at the same time: all
// of what they add is there afterwards. They take turns by a lock of the file system; where it
// has none, or none between hosts, one that finds its additions overwritten adds them again.
// A host that writes later than another looks can still undo what that one added, so hosts
// that share a directory without locks are better given a file each.
func Update(name string, add *Set) error {
	unlock, err := atomicfile.Lock(name+".lock", lockWait)
	if err == nil {
		defer unlock()
	} else if !errors.Is(err, atomicfile.ErrNoLock) {
		return fmt.Errorf("record: %w", err)
	}
	for range updateTries {
		var r Set
		if err := r.Load(name); err != nil {
			return err
		}
		if !r.merge(add) && !r.unsorted {
			return nil // also after a Save
		}
		if err := r.Save(name); err != nil {
			return err
		}
	}
	return fmt.Errorf("record %s: other processes overwrite it each time, on a file system without locks; set KILN_RECORD to a file for each host", name)
}

// merge adds a record, and reports whether something of it was new.
func (r *Set) merge(other *Set) (changed bool) {
	for _, s := range other.Specs() {
		changed = r.Add(s) || changed
	}
	for _, c := range other.Choices() {
		changed = r.AddChoice(c) || changed
	}
	return changed
}
