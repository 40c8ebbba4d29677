package prebuild

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/jit/artifact"
	"github.com/gokiln/kiln/jit/record"
)

// Kept is an entry of a cache or a bundle.
type Kept struct {
	Key cache.Key
	cache.Header
	Read func() (*cache.Entry, error)
}

// Verdict is what came of compiling again what an entry holds.
type Verdict struct {
	Key    *cache.Key `json:"key,omitempty"` // nil for a file that is no entry
	Path   string     `json:"path,omitempty"`
	Kind   string     `json:"kind,omitempty"`
	Kernel string     `json:"kernel,omitempty"`
	Target string     `json:"target,omitempty"`
	Build  string     `json:"build,omitempty"`
	Result string     `json:"result"` // one of the constants
	Why    string     `json:"why,omitempty"`
}

// Results of a comparison.
const (
	Same       = "same"
	Differs    = "differs"      // what was kept is not what the compiler makes
	Uncompared = "not compared" // it cannot be compiled here; it is whole
	Damaged    = "damaged"
)

// Bad reports whether the entry should not be there.
func (v *Verdict) Bad() bool { return v.Result == Differs || v.Result == Damaged }

// Specs lists what source entries say that they were made of.
func Specs(kept []Kept) []record.Spec {
	var set record.Set
	for _, k := range kept {
		if k.Kind != cache.KindSource {
			continue
		}
		if e, err := k.Read(); err == nil { // else Compare tells
			if text, err := artifact.SpecOf(e); err == nil && text != "" {
				if spec, err := record.Parse([]byte(text)); err == nil {
					set.Add(spec)
				}
			}
		}
	}
	return set.Specs()
}

// Compare compiles again what entries hold, as far as the loader has its source and the
// compiler is the one that made it, and compares headers and bytes. Machine code is made
// again if one of the tools has made it; what a driver made, only that driver can. The
// specialisations of the job and its targets do not count. There is a verdict on every entry, in
// order.
func (j *Job) Compare(ctx context.Context, kept []Kept) ([]Verdict, error) {
	c := comparer{Job: j, kept: kept, out: make([]Verdict, len(kept)), why: map[string]string{}}
	for i, k := range kept {
		c.out[i] = Verdict{Key: &k.Key, Kind: k.Kind, Kernel: k.Kernel, Target: k.Target, Build: k.Build}
	}
	if err := c.all(ctx, len(kept), c.source); err != nil {
		return nil, err
	}
	groups := c.groups()
	err := c.all(ctx, len(groups), func(ctx context.Context, i int) { c.code(ctx, groups[i]) })
	return c.out, err
}

// comparer is a comparison that runs.
type comparer struct {
	*Job
	kept []Kept
	out  []Verdict // each written by one goroutine

	mu       sync.Mutex
	programs []*compiler.Program
	why      map[string]string // the source of a kernel is not compiled
	known    artifact.Sources
}

// all calls f for numbers below n, some at a time.
func (c *comparer) all(ctx context.Context, n int, f func(context.Context, int)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.workers())
	for i := range n {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			f(ctx, i)
			return ctx.Err()
		})
	}
	return group.Wait()
}

func (c *comparer) say(i int, result, why string, args ...any) {
	c.out[i].Result, c.out[i].Why = result, fmt.Sprintf(why, args...)
}

// read reads an entry, nil if there is nothing to compare, of which it says why.
func (c *comparer) read(i int) *cache.Entry {
	e, err := c.kept[i].Read()
	switch {
	case err != nil:
		c.say(i, Damaged, "%v", err)
	case e.Tool != artifact.Tool && !strings.HasPrefix(e.Tool, artifact.Tool+","):
		c.say(i, Uncompared, "made by %s, this is %s", cmp.Or(e.Tool, "something that does not say what it is"), artifact.Tool)
	default:
		return e
	}
	return nil
}

// source compares a source entry.
func (c *comparer) source(_ context.Context, i int) {
	k := c.kept[i]
	if k.Kind != cache.KindSource {
		return
	}
	e := c.read(i)
	if e == nil {
		c.unknown(i)
		return
	}
	text, err := artifact.SpecOf(e)
	if err == nil && text == "" {
		c.say(i, Uncompared, "an earlier release kept it, which did not note what it was made of")
		c.unknown(i)
		return
	}
	var spec record.Spec
	if err == nil {
		spec, err = record.Parse([]byte(text))
	}
	if err != nil {
		c.say(i, Damaged, "%v", err)
		return
	}
	req, err := spec.Request()
	if err != nil {
		c.say(i, Damaged, "%v", err)
		return
	}
	key, err := c.known.Key(req, artifact.Specialisation(req), c.Load, "")
	if err != nil {
		c.say(i, Uncompared, "source unknown: %v", err)
		c.unknown(i)
		return
	}
	if key != k.Key {
		c.say(i, Uncompared, "made of other source than is here")
		c.unknown(i)
		return
	}
	prog, err := compiler.Front(req, c.Load)
	if err != nil {
		c.say(i, Differs, "compiling it again fails: %v", err)
		return
	}
	c.mu.Lock()
	c.programs = append(c.programs, prog)
	c.mu.Unlock()
	src := artifact.Source{IR: prog.Hash, Positions: prog.Positions}
	want, err := src.Entry(prog.Kernel, text)
	c.judge(i, e, want, err)
}

// unknown keeps why there is no program of a kernel, for its code.
func (c *comparer) unknown(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.why[c.kept[i].Kernel] = c.out[i].Why
}

// judge compares an entry with the one that was made now.
func (c *comparer) judge(i int, have, want *cache.Entry, err error) {
	if err != nil {
		c.say(i, Differs, "compiling it again fails: %v", err)
		return
	}
	if d := difference(have, want); d != "" {
		c.say(i, Differs, "%s", d)
		return
	}
	c.say(i, Same, "")
}

// difference says in which way an entry is not the one wanted, "" if in none.
func difference(have, want *cache.Entry) string {
	for _, f := range []struct{ name, have, want string }{
		{"kind", have.Kind, want.Kind}, {"kernel", have.Kernel, want.Kernel}, {"types", have.Types, want.Types}, {"target", have.Target, want.Target},
		{"format", have.Format, want.Format}, {"build", have.Build, want.Build}, {"tool", have.Tool, want.Tool},
	} {
		if f.have != f.want {
			return fmt.Sprintf("its header says %s %q, compiled again it is %q", f.name, f.have, f.want)
		}
	}
	if a, b := compacted(have.Meta), compacted(want.Meta); a != b {
		at := differAt([]byte(a), []byte(b))
		return fmt.Sprintf("its header has …%s…, compiled again …%s…", around(a, at), around(b, at))
	}
	if at := differAt(have.Body, want.Body); at >= 0 {
		return fmt.Sprintf("other bytes from %d on, of %d; compiled again they are %d", at, len(have.Body), len(want.Body))
	}
	return ""
}

// differAt is where texts differ first, -1 for nowhere.
func differAt(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func around(text string, at int) string { return text[max(0, at-20):min(len(text), at+20)] }

// compacted writes JSON in one way: stores do not keep its spaces.
func compacted(text json.RawMessage) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return string(text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(text)
	}
	return string(out)
}

// group is code of a program for a target, and the entries that hold it.
type group struct {
	prog      *compiler.Program
	tgt       target.Target
	build     compiler.Options
	text      []int // entries of what the compiler makes
	assembled []int // of machine code of that
}

// groups finds the code that entries hold by their keys, and says of the rest why they are not
// compiled.
func (c *comparer) groups() []*group {
	slices.SortFunc(c.programs, func(a, b *compiler.Program) int { return cmp.Compare(a.Hash, b.Hash) })
	c.programs = slices.CompactFunc(c.programs, func(a, b *compiler.Program) bool { return a.Hash == b.Hash })
	targets, builds := map[string]target.Target{}, map[string]compiler.Options{}
	for _, k := range c.kept {
		if t, err := target.Parse(k.Target); err == nil {
			targets[k.Target] = t
		}
		if o, err := compiler.ParseBuild(k.Build); err == nil {
			builds[o.Key()] = o
		}
	}
	text, assembled := map[cache.Key]*group{}, map[cache.Key]*group{}
	for _, p := range c.programs {
		for _, t := range targets {
			for _, o := range builds {
				key, g := artifact.CodeKey(p.Hash, t, o), &group{prog: p, tgt: t, build: o}
				text[key], assembled[artifact.MachineKey(key, artifact.Assembled)] = g, g
			}
		}
	}
	var used []*group
	for i, k := range c.kept {
		if k.Kind == cache.KindSource {
			continue
		}
		g, list := text[k.Key], (*[]int)(nil)
		if g != nil {
			list = &g.text
		} else if g = assembled[k.Key]; g != nil {
			list = &g.assembled
		}
		if g == nil {
			c.orphan(i)
			continue
		}
		if *list = append(*list, i); len(g.text)+len(g.assembled) == 1 {
			used = append(used, g)
		}
	}
	return used
}

// orphan says why no program leads to an entry.
func (c *comparer) orphan(i int) {
	e := c.read(i)
	switch {
	case e == nil:
	case e.Kind == cache.KindTuned:
		c.say(i, Uncompared, "a choice that was measured")
	case e.Kind == cache.KindMachine && e.Tool == artifact.Tool:
		c.say(i, Uncompared, "machine code that a driver made, which only the same driver makes again")
	case c.why[e.Kernel] != "":
		c.say(i, Uncompared, "%s", c.why[e.Kernel])
	default:
		c.say(i, Uncompared, "no source entry leads to it: it was made of other source than is here, or that entry was removed")
	}
}

// code compares the entries of a group.
func (c *comparer) code(ctx context.Context, g *group) {
	emit := sync.OnceValues(func() (*compiler.Artifact, error) { return g.prog.Emit(g.tgt, g.build) })
	for _, i := range g.text {
		if e := c.read(i); e != nil {
			var want *cache.Entry
			art, err := emit()
			if err == nil {
				want, err = artifact.Entry(cache.KindArtifact, art, g.build, artifact.Tool)
			}
			c.judge(i, e, want, err)
		}
	}
	for _, i := range g.assembled {
		if e := c.read(i); e != nil {
			c.assembled(ctx, i, e, g, emit)
		}
	}
}

// assembled compares machine code, if the tool that made it is here.
func (c *comparer) assembled(ctx context.Context, i int, e *cache.Entry, g *group, emit func() (*compiler.Artifact, error)) {
	by := strings.TrimPrefix(strings.TrimPrefix(e.Tool, artifact.Tool), ", ")
	at := slices.IndexFunc(c.Tools, func(a *Assembler) bool { return a.version == by && a.makes == e.Format })
	if at < 0 {
		c.say(i, Uncompared, "machine code that %q made, which is not here", by)
		return
	}
	tool := c.Tools[at]
	art, err := emit()
	if err == nil && art.Format != tool.format {
		err = fmt.Errorf("%s code is nothing that %s assembles", art.Format, tool)
	}
	var want *cache.Entry
	if err == nil {
		want, err = tool.entry(ctx, art, g.tgt, g.build)
	}
	if errors.Is(err, errUnknown) {
		c.say(i, Uncompared, "%v", err)
		return
	}
	c.judge(i, e, want, err)
}
