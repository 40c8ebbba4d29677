package prebuild

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/jit/artifact"
	"github.com/gokiln/kiln/jit/record"
)

// Gap is a kernel that a bundle does not have as it should be.
type Gap struct {
	Kernel string `json:"kernel"`
	Target string `json:"target,omitempty"`
	Kind   string `json:"kind"` // one of the constants
	Why    string `json:"why"`
}

// Kinds of gaps.
const (
	GapVersion = "version" // the bundle is of another version of the compiler
	GapKernel  = "kernel"  // there is nothing of it
	GapType    = "type"    // there are other instances
	GapStale   = "stale"   // it was built of other source
	GapTarget  = "target"  // not for this target
	GapBuild   = "build"   // not in this variant
	GapTuned   = "tuned"   // the choice of a tuner is missing, or another one
	GapCode    = "code"    // what is there is not what the compiler makes, see [Job.Compare]
)

// Check says what of a job a bundle does not have. A job without targets is checked for
// those of the bundle.
func (j *Job) Check(b *bundle.Bundle) ([]Gap, error) {
	if v := b.Header().Compiler; v != compiler.Version {
		return []Gap{{Kind: GapVersion, Why: fmt.Sprintf("it was made by version %s of the compiler, programs that are built now have %s: nothing in it can be found; build it again", v, compiler.Version)}}, nil
	}
	items, err := b.Manifest()
	if err != nil {
		return nil, err
	}
	c := checker{Job: j, b: b, has: map[string][]string{}}
	for _, it := range items {
		name := artifact.KernelOf(it.Kernel)
		c.has[name] = append(c.has[name], it.Kernel)
	}
	for _, s := range j.Specs {
		if err := c.spec(s); err != nil {
			return nil, err
		}
	}
	for _, choice := range j.Choices {
		if err := c.choice(choice); err != nil {
			return nil, err
		}
	}
	return c.gaps, nil
}

// choice checks what a tuner chose.
func (c *checker) choice(want record.Choice) error {
	e, err := c.b.Get(bundle.Common, artifact.TunedKey(want))
	if errors.Is(err, bundle.ErrMissing) {
		c.gap(GapTuned, want.Tuned, want.Target, fmt.Sprintf("the bundle has no choice at %d for %s", want.At, want.Device))
		return nil
	}
	if err != nil {
		return err
	}
	have, err := artifact.ReadTuned(e)
	if err != nil {
		return fmt.Errorf("%s: %w", want.Tuned, err)
	}
	if have.Best != want.Best {
		c.gap(GapTuned, want.Tuned, want.Target, fmt.Sprintf("the bundle has %s at %d for %s, the record %s", have.Best, want.At, want.Device, want.Best))
	}
	return nil
}

type checker struct {
	*Job
	b    *bundle.Bundle
	has  map[string][]string // instances by kernel
	gaps []Gap
}

func (c *checker) gap(kind, kernel, tgt, why string) {
	c.gaps = append(c.gaps, Gap{kernel, tgt, kind, why})
}

// spec checks a specialisation.
func (c *checker) spec(s record.Spec) error {
	req, err := s.Request()
	if err != nil {
		return err
	}
	key, err := artifact.SourceKey(req, c.Load)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Kernel, err)
	}
	e, err := c.b.Get(bundle.Common, key)
	if errors.Is(err, bundle.ErrMissing) {
		return c.absent(s)
	}
	if err != nil {
		return err
	}
	hash, positions, err := artifact.ReadSource(e)
	if err == nil {
		_, err = positions.Positions()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Kernel, err)
	}
	targets, err := c.targets(s)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if err := c.code(s, t, e.Kernel, hash); err != nil {
			return err
		}
	}
	return nil
}

// absent says why there is nothing for a specialisation.
func (c *checker) absent(s record.Spec) error {
	req, err := s.Request()
	if err != nil {
		return err
	}
	p, err := compiler.Front(req, c.Load)
	if err != nil {
		return err
	}
	others := slices.Compact(slices.Sorted(slices.Values(c.has[s.Kernel])))
	if len(others) == 0 {
		c.gap(GapKernel, p.Kernel, "", "the bundle has nothing of this kernel")
		return nil
	}
	if slices.Contains(others, p.Kernel) {
		c.gap(GapStale, p.Kernel, "", "the kernel, or what it calls, has changed since the bundle was built")
		return nil
	}
	c.gap(GapType, p.Kernel, "", "the bundle has only "+strings.Join(others, ", "))
	return nil
}

// targets are those that a specialisation should be there for.
func (c *checker) targets(s record.Spec) (list []target.Target, err error) {
	if len(c.Targets) > 0 {
		return c.Targets, nil
	}
	names := s.Targets
	if len(names) == 0 {
		for _, section := range c.b.Header().Sections {
			if section.Target != bundle.Common && c.b.Has(section.Target) {
				names = append(names, section.Target)
			}
		}
	}
	for _, name := range names {
		t, err := target.Parse(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Kernel, err)
		}
		list = append(list, t)
	}
	return list, nil
}

// code checks the builds for a target. What a device takes besides code for itself counts, as
// it does when a program runs.
func (c *checker) code(s record.Spec, t target.Target, kernel, ir string) error {
	builds, err := c.builds(&s, t)
	if err != nil {
		return err
	}
	_, text := t.Takes()
	has := func(build compiler.Options) (found bool) {
		for _, t := range append([]target.Target{t}, text...) {
			_, e := c.b.Get(t.String(), artifact.CodeKey(ir, t, build))
			if found = found || e == nil; e != nil && !errors.Is(e, bundle.ErrMissing) {
				err = e
			}
		}
		return found
	}
	some := has(compiler.Options{})
	var missing []string
	for _, build := range builds {
		if !has(build) {
			missing = append(missing, fmt.Sprintf("%q", build.Build()))
		} else {
			some = true
		}
	}
	switch {
	case err != nil:
		return err
	case len(missing) == 0:
	case !some:
		c.gap(GapTarget, kernel, t.String(), "it is not built for this target")
	default:
		c.gap(GapBuild, kernel, t.String(), "not in the variants "+strings.Join(missing, ", "))
	}
	return nil
}
