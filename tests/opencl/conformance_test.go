package opencl_test

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
	emit "github.com/gokiln/kiln/compiler/opencl"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tests/conformance"
	"github.com/gokiln/kiln/tests/opencl"
)

// kernels are the conformance cases that can be run without a driver of ours:
// package-level functions of slices and numbers that OpenCL C has.
type kernels struct {
	modules []*ir.Module
	byName  map[string]int // index in modules; -1 for those that cannot be run
	cases   []conformance.Case
	module  []int // of a case
}

// request names a kernel, and its instance by the types of its parameters.
func request(fn any) (front.Request, bool) {
	full := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name()
	slash := strings.LastIndexByte(full, '/') + 1
	dot := strings.IndexByte(full[slash:], '.')
	name, generic := strings.CutSuffix(full[slash+dot+1:], "[...]")
	req := front.Request{Pkg: full[:slash+dot], Func: name}
	if generic {
		req.Sig = strings.ReplaceAll(reflect.TypeOf(fn).String(), "float16.Float16", "dsl.F16")
	}
	plain := strings.NewReplacer("dsl.", "").Replace(req.Sig)
	return req, !strings.ContainsAny(name, ".()[]") && !strings.Contains(plain, ".")
}

// add takes a case if it can be run.
func (k *kernels) add(c conformance.Case, tgt target.Target) {
	req, ok := request(c.Kernel)
	key := req.Pkg + "." + req.Func + req.Sig
	i, known := k.byName[key]
	if !known {
		i = -1
		if m := k.compile(req, tgt); ok && m != nil {
			i = len(k.modules)
			m.Kernel().Name = fmt.Sprintf("k%d", i)
			k.modules = append(k.modules, m)
		}
		k.byName[key] = i
	}
	numbers := !slices.ContainsFunc(c.Args, func(a any) bool {
		t := reflect.TypeOf(a)
		return t.Kind() != reflect.Slice && (t.Kind() < reflect.Bool || t.Kind() > reflect.Float64)
	})
	if i >= 0 && numbers && len(c.Near) == 0 {
		k.cases, k.module = append(k.cases, c), append(k.module, i)
	}
}

// compile returns the kernel's module, nil if OpenCL C lacks something that it needs
// or its arguments are more than a case shows.
func (k *kernels) compile(req front.Request, tgt target.Target) *ir.Module {
	p, err := compiler.Front(req, compiler.Registered)
	if err != nil {
		return nil
	}
	m, err := p.Optimize(tgt, compiler.Options{})
	if err != nil {
		return nil
	}
	if _, err := emit.Language.Emit(m, tgt, cfamily.Options{}); err != nil {
		return nil
	}
	for _, a := range m.Kernel().Args {
		if a.Kind == ir.ArgStruct {
			return nil
		}
	}
	return m
}

// TestConformance runs the conformance kernels that need neither sub-groups nor
// structs as arguments, and compares them with plain Go.
func TestConformance(t *testing.T) {
	dev := open(t)
	tgt, err := target.Parse("opencl:1.2")
	require.NoError(t, err)
	k := kernels{byName: map[string]int{}}
	for _, c := range conformance.Cases(tgt.WarpSize) {
		k.add(c, tgt)
	}
	t.Logf("%d kernels, %d cases", len(k.modules), len(k.cases))
	require.Greater(t, len(k.cases), 100)
	require.True(t, slices.ContainsFunc(k.modules, func(m *ir.Module) bool { return m.Dynamic() != nil }), "a kernel has dynamic shared memory")
	text, err := emit.Language.EmitAll(k.modules, tgt, cfamily.Options{})
	require.NoError(t, err)
	program, err := dev.Build(text, emit.BuildOptions)
	require.NoError(t, err)
	for i, c := range k.cases {
		t.Run(c.Name, func(t *testing.T) { check(t, program, k.modules[k.module[i]], c) })
	}
}

func check(t *testing.T, program *opencl.Program, m *ir.Module, c conformance.Case) {
	require.NoError(t, conformance.CheckBy(c, 32, "OpenCL", func() ([]any, error) {
		return program.Call(m.Kernel().Name, axes(c.Grid), axes(c.Threads), c.Args, local(m, c)...)
	}))
}

// local is the memory of the array whose length the arguments of a case say, nothing if the kernel has
// no such array. OpenCL has no memory of no bytes.
func local(m *ir.Module, c conformance.Case) []opencl.Arg {
	o := m.Dynamic()
	if o == nil {
		return nil
	}
	at := 0
	for i, a := range m.Kernel().Args {
		if at == o.Param {
			n := reflect.ValueOf(c.Args[i]).Int()
			return []opencl.Arg{{Local: max(int(n)*o.Type.Elem.Size(), 1)}}
		}
		at += a.NumParams()
	}
	return nil
}

func axes(d dsl.Dim3) [3]int { return [3]int{max(d.X, 1), max(d.Y, 1), max(d.Z, 1)} }
