package artifact

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/compiler/code"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/dsl"
)

// DSL is the import path of package dsl.
const DSL = "github.com/gokiln/kiln/dsl"

// Tool is what entries say that made them.
const Tool = "kiln " + code.Version

// Sources remembers the hashes of packages' source, which does not change while a program
// runs. The zero value is ready; a nil one remembers nothing.
type Sources struct{ sums sync.Map }

// Key is the key of a kernel's source entry. Spec is [Specialisation] of the request, which
// callers have for messages too; loader names what load knows, where there are several.
func (s *Sources) Key(req input.Request, spec string, load input.Loader, loader string) (cache.Key, error) {
	more := input.Packages(req.Sig)
	for _, f := range req.Funcs {
		more = append(append(more, f.Pkg), input.Packages(f.Sig)...)
	}
	slices.Sort(more)
	more = slices.Compact(more)
	name := strings.Join(append([]string{loader, req.Pkg}, more...), " ")
	if s != nil {
		if sum, ok := s.sums.Load(name); ok {
			return sourceKey(req, spec, sum.([sha256.Size]byte)), nil
		}
	}
	go dslHash() // as long as this takes
	sum, err := input.SourceHash(req.Pkg, load, more...)
	if err != nil {
		return cache.Key{}, err
	}
	if s != nil {
		s.sums.Store(name, sum)
	}
	return sourceKey(req, spec, sum), nil
}

// SourceKey is Key for one kernel.
func SourceKey(req input.Request, load input.Loader) (cache.Key, error) {
	return (*Sources)(nil).Key(req, Specialisation(req), load, "")
}

func sourceKey(req input.Request, spec string, sum [sha256.Size]byte) cache.Key {
	return cache.NewKey("source", code.Version, dslHash(), string(sum[:]), req.Pkg, req.Func, req.Sig, spec)
}

// dslHash covers the functions of package dsl that kernels call: they are
// compiled from their source like the kernel itself.
var dslHash = sync.OnceValue(func() string {
	h := sha256.New()
	p, err := input.ReadPackage(DSL, dsl.API())
	if err != nil {
		return err.Error() // the front end will fail on the same error
	}
	for _, f := range p.Files {
		fmt.Fprintf(h, "%s %d\n", f.Name, len(f.Text))
		h.Write(f.Text)
	}
	return string(h.Sum(nil))
})

// Specialisation is the canonical text of what a request has besides the kernel: for keys, and
// for messages.
func Specialisation(req input.Request) string {
	if len(req.Consts) == 0 && len(req.Funcs) == 0 {
		return ""
	}
	text := make([]byte, 0, 512)
	if len(req.Consts) > 0 {
		names := slices.Collect(maps.Keys(req.Consts))
		slices.SortFunc(names, byEnd)
		for i, name := range names {
			text = append(append(append(text, "{,"[min(i, 1)]), name...), ':')
			text = strconv.AppendInt(text, req.Consts[name], 10)
		}
		text = append(text, '}')
	}
	for _, name := range slices.Sorted(maps.Keys(req.Funcs)) {
		text = append(append(append(append(append(text, '{'), name...), ':'), req.Funcs[name].String()...), '}')
	}
	return string(text)
}

// byEnd compares names as if each had a colon behind it.
func byEnd(a, b string) int {
	n := min(len(a), len(b))
	switch c := strings.Compare(a[:n], b[:n]); {
	case c != 0:
		return c
	case len(a) > n:
		return cmp.Compare(a[n], ':')
	case len(b) > n:
		return cmp.Compare(':', b[n])
	}
	return 0
}

// CodeKey is the key of what the compiler makes of IR with a hash.
func CodeKey(hash string, t target.Target, opt code.Options) cache.Key {
	return cache.NewKey("artifact", code.Version, hash, t.String(), opt.Key())
}

// MachineKey is the key of machine code for what is under a CodeKey. By is what made it:
// the device and driver, as a device says itself, or [Assembled].
func MachineKey(code cache.Key, by string) cache.Key {
	return cache.NewKey("machine", code.String(), by)
}

// Assembled stands for the tools that make machine code where no device is. It runs on
// every driver that knows the format; which version of the tools made it is in the entry.
const Assembled = "assembled"

// Source is what a source entry is made of.
type Source struct {
	IR        string // hash
	Positions []ir.Pos
}

// sourceMeta is the header of a source entry, whose body has the positions and then the
// specialisation: programs read neither as they look for a kernel.
type sourceMeta struct {
	IR   string `json:"ir"`
	Spec int    `json:"spec_bytes,omitempty"` // at the end of the body
}

// Entry returns the entry of s under the name that the compiler has for the kernel. Spec is
// what to compile to have the entry again, as a line of a record.
func (s *Source) Entry(kernel, spec string) (*cache.Entry, error) {
	meta, err := json.Marshal(sourceMeta{s.IR, len(spec)})
	if err != nil {
		return nil, fmt.Errorf("%s: writing source entry: %w", kernel, err)
	}
	body := append(appendPositions(nil, s.Positions), spec...)
	return &cache.Entry{Header: cache.Header{Kind: cache.KindSource, Kernel: kernel, Tool: Tool, Meta: meta}, Body: body}, nil
}

// ReadSource reads the entry that [Source.Entry] made: the hash of the IR and the positions.
func ReadSource(e *cache.Entry) (hash string, positions Table, err error) {
	hash, body, _, err := readSource(e)
	return hash, body, err
}

// SpecOf returns what a source entry was made of, as a line of a record, "" if it does not say:
// entries of earlier releases do not.
func SpecOf(e *cache.Entry) (string, error) {
	_, _, spec, err := readSource(e)
	return string(spec), err
}

func readSource(e *cache.Entry) (hash string, positions, spec []byte, err error) {
	var m sourceMeta
	if e.Kind != cache.KindSource {
		return "", nil, nil, fmt.Errorf("an entry of kind %s, want %s", e.Kind, cache.KindSource)
	}
	if !m.read(string(e.Meta)) {
		m = sourceMeta{}
		if err := json.Unmarshal(e.Meta, &m); err != nil {
			return "", nil, nil, fmt.Errorf("source entry: %w", err)
		}
	}
	if m.IR == "" {
		return "", nil, nil, errors.New("source entry without a hash")
	}
	if m.Spec < 0 || m.Spec > len(e.Body) {
		return "", nil, nil, fmt.Errorf("source entry of %d bytes, %d of them its specialisation", len(e.Body), m.Spec)
	}
	at := len(e.Body) - m.Spec
	return m.IR, e.Body[:at:at], e.Body[at:], nil
}

// Entry returns the entry of code, [cache.KindArtifact] or [cache.KindMachine]. Tool may say
// more than that this compiler made it.
func Entry(kind string, a *code.Artifact, opt code.Options, tool string) (*cache.Entry, error) {
	meta, err := json.Marshal(a.Meta)
	if err != nil {
		return nil, fmt.Errorf("%s: writing %s entry: %w", a.Kernel, kind, err)
	}
	return &cache.Entry{
		Header: cache.Header{Kind: kind, Kernel: a.Kernel, Target: a.Target, Format: a.Format, Build: opt.Build(), Tool: tool, Meta: meta},
		Body:   a.Code,
	}, nil
}

// Read reads the entry that [Entry] made.
func Read(e *cache.Entry, kind string) (*code.Artifact, error) {
	if e.Kind != kind {
		return nil, fmt.Errorf("an entry of kind %s, want %s", e.Kind, kind)
	}
	a := &code.Artifact{Code: e.Body}
	if !readMeta(string(e.Meta), &a.Meta) {
		a.Meta = code.Meta{}
		if err := json.Unmarshal(e.Meta, &a.Meta); err != nil {
			return nil, fmt.Errorf("%s entry: %w", kind, err)
		}
	}
	return a, nil
}

// KernelOf cuts types and values off the name of an instance, as entries have it.
func KernelOf(instance string) string {
	if i := strings.IndexAny(instance, "[{"); i >= 0 {
		return instance[:i]
	}
	return instance
}
