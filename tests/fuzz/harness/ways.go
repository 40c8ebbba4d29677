package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/llvm"
	emit "github.com/gokiln/kiln/compiler/opencl"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/detour"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance"
	"github.com/gokiln/kiln/tests/hostargs"
	"github.com/gokiln/kiln/tests/nvrtc"
	"github.com/gokiln/kiln/tests/opencl"
	"github.com/gokiln/kiln/tests/sim/onhost"
	"github.com/gokiln/kiln/tests/through"
)

const waysText = `cuda (on an NVIDIA GPU, as CUDA C++ text), llvm (on an NVIDIA GPU, as PTX that LLVM made, which is at the end of this program), ` +
	`opencl (OpenCL C on the machine's own OpenCL device), host:gfx942 or another architecture (LLVM IR for it, on this machine's processor)`

// open opens what the kernels run on.
func (s *session) open() (done func(), err error) {
	s.lacking = map[string]int{}
	arch, host := strings.CutPrefix(s.through, "host:")
	switch {
	case host:
		return func() {}, s.openHost(arch)
	case s.through == "opencl":
		return func() {}, s.openOpenCL()
	}
	if s.dev, err = runtime.Open(s.device); err != nil {
		return nil, err
	}
	s.where, s.width = fmt.Sprintf("%s (%s)", s.dev.Name(), s.dev.Info().Name), s.dev.WarpSize()
	if err := s.openNative(); err != nil {
		return nil, err
	}
	way, err := s.way()
	if err == nil && way != nil && !slices.Contains(s.dev.Info().Formats, way.Loads) {
		err = fmt.Errorf("-device %s -through %s -record %s: the device loads %v, not %s", s.device, s.through, s.record, s.dev.Info().Formats, way.Loads)
	}
	if err != nil || way == nil {
		return func() { s.dev.Close() }, err
	}
	back := detour.Take(way)
	return func() { back(); s.dev.Close() }, nil
}

// way returns another way to the device, nil for its own.
func (s *session) way() (*detour.Way, error) {
	switch {
	case s.record != "":
		rec, err := through.NewRecorder("sm_90")
		s.rec = rec
		return rec.Way(), err
	case s.through == "":
		return nil, nil
	case s.through == "cuda":
		lib, err := nvrtc.Open()
		if err != nil {
			return nil, err
		}
		s.where += " through CUDA C++"
		return through.NVRTC(lib), nil
	case s.through == "llvm":
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("the file of this program, which has PTX at its end: %w", err)
		}
		images, err := through.OpenImages(self)
		if err != nil {
			return nil, fmt.Errorf("%w; build it with kilnfuzz -llvm", err)
		}
		s.where += " through LLVM"
		return through.LLVM(images), nil
	}
	return nil, fmt.Errorf("-through %s: want cuda, llvm, opencl, or host: and an architecture", s.through)
}

// finish writes what was recorded.
func (s *session) finish() error {
	if s.rec == nil {
		return nil
	}
	f, err := os.Create(s.record)
	if err != nil {
		return fmt.Errorf("-record: %w", err)
	}
	_, err = s.rec.Write(context.Background(), f)
	return errors.Join(err, f.Close())
}

// route runs kernels without a device of package runtime.
type route struct {
	tgt   target.Target
	batch int // kernels that are compiled together
	// lacks says why a kernel cannot be run, nil if it can.
	lacks func(m *ir.Module) error
	// build compiles kernels, and returns what runs them by their names.
	build func(list []*ir.Module, assume compiler.Assume) (runner, error)
}

// runner runs the kernel of a name. Together says that threads of a block wait for each
// other.
type runner func(name string, together bool, c conformance.Case) ([]any, error)

// routed compiles kernels, and returns those that the route has and what checks them.
func (s *session) routed(list []Kernel) (have []Kernel, check func(Kernel) error, err error) {
	var modules []*ir.Module
	together := map[uint64]bool{}
	names := map[uint64]string{}
	assume := compiler.Assumes(s.route.tgt)
	for _, k := range list {
		assume &= properties(s.route.tgt, k.launch().Args)
	}
	for _, k := range list {
		prog, err := translate(k)
		if err != nil {
			return list, nil, err
		}
		m, err := prog.Optimize(s.route.tgt, compiler.Options{Assume: assume})
		if err != nil {
			return list, nil, err
		}
		pass.LowerLog(m, true)
		if err := s.route.lacks(m); err != nil {
			s.lack(err)
			continue
		}
		names[k.Seed], together[k.Seed] = fmt.Sprintf("k%d", len(modules)), waits(m)
		m.Kernel().Name = names[k.Seed]
		have, modules = append(have, k), append(modules, m)
	}
	if len(have) == 0 {
		return nil, nil, nil
	}
	run, err := s.route.build(modules, assume)
	return have, func(k Kernel) error {
		c := k.launch()
		return conformance.CheckBy(c, s.width, s.where, func() ([]any, error) { return run(names[k.Seed], together[k.Seed], c) })
	}, err
}

// lack counts a kernel that the route has not. The reason is what stands at the end.
func (s *session) lack(err error) {
	var why *target.Unsupported
	text := err.Error()
	if errors.As(err, &why) {
		text = why.Why
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lacking[text]++
}

// waits reports whether threads of a block wait for each other.
func waits(m *ir.Module) bool {
	for _, b := range m.Kernel().Blocks {
		for _, v := range b.Instrs {
			if v.Op.Has(ir.Convergent) {
				return true
			}
		}
	}
	return false
}

// openHost has LLVM IR for an architecture run on this machine's processor.
func (s *session) openHost(arch string) error {
	tgt, err := target.Parse("llvm:" + arch)
	if err != nil {
		return err
	}
	if err := onhost.Available(); err != nil {
		return fmt.Errorf("-through %s: %w", s.through, err)
	}
	s.where, s.width = "this machine's processor, as LLVM IR for "+arch, tgt.WarpSize
	s.route = &route{tgt: tgt, batch: 25, lacks: func(*ir.Module) error { return nil }, build: func(list []*ir.Module, assume compiler.Assume) (runner, error) {
		opt := llvm.Options{Host: true, Aligned: assume&compiler.Aligned != 0, Disjoint: assume&compiler.Disjoint != 0}
		var texts []string
		for _, m := range list {
			text, err := opt.Emit(m, tgt)
			if err != nil {
				return nil, err
			}
			texts = append(texts, text)
		}
		dir, err := os.MkdirTemp("", "kilnfuzz")
		if err != nil {
			return nil, fmt.Errorf("folder for machine code: %w", err)
		}
		defer os.RemoveAll(dir) // what is loaded stays
		lib, err := onhost.Build(dir, llvm.Join(texts), tgt.WarpSize)
		return func(name string, together bool, c conformance.Case) ([]any, error) {
			a := hostargs.Copy(c.Args...)
			defer a.Close()
			return a.Values, lib.Run(name, axes(c.Grid), axes(c.Threads), a.Block(), together)
		}, err
	}}
	return nil
}

// openOpenCL has OpenCL C run on the machine's OpenCL device.
func (s *session) openOpenCL() error {
	tgt, err := target.Parse("opencl:1.2")
	if err != nil {
		return err
	}
	dev, err := opencl.Open()
	if err != nil {
		return err
	}
	s.where, s.width = "OpenCL ("+dev.Name()+")", tgt.WarpSize
	lacks := func(m *ir.Module) error {
		_, err := emit.Language.Emit(m, tgt, cfamily.Options{})
		return err
	}
	s.route = &route{tgt: tgt, batch: 25, lacks: lacks, build: func(list []*ir.Module, assume compiler.Assume) (runner, error) {
		text, err := emit.Language.EmitAll(list, tgt, cfamily.Options{Disjoint: assume&compiler.Disjoint != 0})
		if err != nil {
			return nil, err
		}
		program, err := dev.Build(text, emit.BuildOptions)
		return func(name string, _ bool, c conformance.Case) ([]any, error) {
			return program.Call(name, axes(c.Grid), axes(c.Threads), c.Args)
		}, err
	}}
	return nil
}
