package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// version is one compilation of a case.
type version struct {
	name    string
	launch  func() error
	finish  func() error // waits for the launches
	batch   int          // launches in a sample
	samples []float64    // seconds of a launch
}

// result is what was measured of a case, ours first.
type result struct {
	name         string
	extra        bool
	bytes, flops float64
	versions     []*version
}

// measure checks and times every version of a case.
func measure(dev *runtime.Device, c config, libs []library, k testCase) (result, error) {
	p := newProblem(dev)
	defer p.free()
	k.build(p, c.small)
	if err := errors.Join(p.errs...); err != nil {
		return result{}, err
	}
	r := result{name: k.name, extra: k.extra, bytes: p.bytes, flops: p.flops, versions: []*version{ours(dev, p)}}
	twins, err := twinsOf(libs, k, p)
	if err != nil {
		return r, err
	}
	r.versions = append(r.versions, twins...)
	if err := check(p, r.versions); err != nil {
		return r, err
	}
	return r, sample(c, r.versions)
}

// ours launches the kernels as any program would.
func ours(dev *runtime.Device, p *problem) *version {
	s := dev.DefaultStream()
	var handles []*jit.Kernel
	for _, step := range p.steps {
		handles = append(handles, jit.Of(step.kernel))
	}
	launch := func() error {
		for i, step := range p.steps {
			if err := handles[i].Launch(s, step.grid, step.args...); err != nil {
				return err
			}
		}
		return nil
	}
	return &version{name: "kiln", launch: launch, finish: s.Sync}
}

// twinsOf returns the versions of the twins: each way of compiling, and the
// alternative in all but the last, which is fast.
func twinsOf(libs []library, k testCase, p *problem) ([]*version, error) {
	if p.twin == nil {
		p.twin = p.steps[0].args
	}
	block := pack(p.twin)
	var list []*version
	add := func(l library, name, symbol string) error {
		call, err := l.twin(symbol, block)
		list = append(list, &version{name: name, launch: call, finish: func() error { return nil }})
		return err
	}
	var errs []error
	for _, l := range libs {
		errs = append(errs, add(l, l.name, k.twin))
		if k.alt != "" && l.name != "fast" {
			errs = append(errs, add(l, "alt", k.alt))
		}
	}
	return list, errors.Join(errs...)
}

// check compares the results of ours with those of every twin but the one that
// may answer otherwise.
func check(p *problem, versions []*version) error {
	var want [][]float64
	for _, v := range versions {
		if v.name == "fast" {
			continue
		}
		if err := p.reset(); err != nil {
			return err
		}
		if err := errors.Join(v.launch(), v.finish()); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		got, err := p.results()
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		if want == nil {
			want = got
		} else if err := p.compare(want, got); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	return nil
}

// sample times the versions in turn.
func sample(c config, versions []*version) error {
	timed := func(v *version, n int) (time.Duration, error) {
		begin := now(c.wall)
		for range n {
			if err := v.launch(); err != nil {
				return 0, err
			}
		}
		err := v.finish()
		return now(c.wall) - begin, err
	}
	for _, v := range versions { // also the warm-up
		took, err := timed(v, 1)
		if err != nil {
			return err
		}
		if took < c.batch {
			if took, err = timed(v, 3); err != nil {
				return err
			}
			took /= 3
		}
		v.batch = max(int(c.batch/max(took, 1)), 1)
	}
	for range c.rounds {
		for _, v := range versions {
			took, err := timed(v, v.batch)
			if err != nil {
				return err
			}
			v.samples = append(v.samples, took.Seconds()/float64(v.batch))
		}
	}
	return nil
}

// measurePeak returns how many floating-point operations a core can do in fused
// multiply-adds of its widest vectors.
func measurePeak(c config, lib library, dev *runtime.Device) (float64, error) {
	const turns = 200000
	p := newProblem(dev)
	defer p.free()
	out := input(p, 64, uniform(0.25, 0.5))
	if err := errors.Join(p.errs...); err != nil {
		return 0, err
	}
	call, err := lib.twin("Peak", pack([]any{out, turns}))
	if err != nil {
		return 0, err
	}
	lanes := 16
	if c.isa == "avx2" || dev.WarpSize() == 8 {
		lanes = 8
	}
	v := &version{launch: call, finish: func() error { return nil }}
	if err := sample(c, []*version{v}); err != nil {
		return 0, err
	}
	return 2 * 24 * turns * float64(lanes) / slices.Min(v.samples), nil
}
