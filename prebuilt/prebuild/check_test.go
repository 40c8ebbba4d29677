package prebuild

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cache/bundle"
	"github.com/gokiln/kiln/jit/record"
)

func TestCheck(t *testing.T) {
	f32, f64 := scale("float32"), scale("float64")
	build := func(change func(*bundle.Writer), specs ...record.Spec) *bundle.Bundle {
		w, err := (&Job{Load: loader(source), Specs: specs, Targets: targets(t, "cpu", "ptx:sm_80")}).Run(t.Context())
		require.NoError(t, err)
		if change != nil {
			change(w)
		}
		b, err := bundle.Parse("b", string(built(t, w)))
		require.NoError(t, err)
		return b
	}
	edited := strings.Replace(source, "*= 2", "*= 3", 1)
	checked := f32
	checked.Builds = []string{"checked"}
	for name, c := range map[string]struct {
		has     *bundle.Bundle
		source  string
		specs   []record.Spec
		targets []string
		want    []Gap
	}{
		"whole":        {build(nil, f32, f64), source, []record.Spec{f64, f32}, nil, nil},
		"comment":      {build(nil, f32), strings.Replace(source, "Scale doubles.", "Edited.", 1), []record.Spec{f32}, nil, nil},
		"later device": {build(nil, f32), source, []record.Spec{f32}, []string{"ptx:sm_90"}, nil},
		"version": {build(func(w *bundle.Writer) { w.Compiler = "6" }, f32), source, []record.Spec{f32}, nil,
			[]Gap{{Kind: GapVersion, Why: "version 6 of the compiler"}}},
		"kernel": {build(nil, f32), source, []record.Spec{{Kernel: "k.Wide"}}, nil,
			[]Gap{{Kernel: "k.Wide", Kind: GapKernel, Why: "nothing of this kernel"}}},
		"type": {build(nil, f32), source, []record.Spec{f64}, nil,
			[]Gap{{Kernel: "k.Scale[float64]", Kind: GapType, Why: "only k.Scale[float32]"}}},
		"stale": {build(nil, f32), edited, []record.Spec{f32}, nil,
			[]Gap{{Kernel: "k.Scale[float32]", Kind: GapStale, Why: "has changed"}}},
		"target": {build(nil, f32), source, []record.Spec{f32}, []string{"hip:gfx942", "ptx:sm_75", "cpu"},
			[]Gap{{"k.Scale[float32]", "hip:gfx942", GapTarget, "not built for this"}, {"k.Scale[float32]", "ptx:sm_75", GapTarget, "not built for this"}}},
		"build": {build(nil, f32), source, []record.Spec{checked}, []string{"ptx:sm_80"},
			[]Gap{{"k.Scale[float32]", "ptx:sm_80", GapBuild, `not in the variants "checked"`}}},
	} {
		t.Run(name, func(t *testing.T) {
			job := Job{Load: loader(c.source), Specs: c.specs, Targets: targets(t, c.targets...)}
			gaps, err := job.Check(c.has)
			require.NoError(t, err)
			require.Len(t, gaps, len(c.want))
			for i, want := range c.want {
				require.Contains(t, gaps[i].Why, want.Why)
				gaps[i].Why = want.Why
				require.Equal(t, want, gaps[i])
			}
		})
	}
}
