package ops_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/detour"
	"github.com/gokiln/kiln/internal/pretend"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/attention"
	"github.com/gokiln/kiln/ops/attention/kernels"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// TestAttentionRegisters has ptxas assemble the kernel of attention as it is for NVIDIA's devices:
// for many queries, for splits of the keys, and with what Problem has besides. Nothing is spilled
// to memory, but for some words in front of and behind the loop over keys where warpgroups share
// registers.
func TestAttentionRegisters(t *testing.T) {
	for _, to := range []string{"ptx:sm_80", "ptx:sm_90a"} {
		_, arch, _ := strings.Cut(to, ":")
		for _, d := range []dtype.DType{dtype.BF16, dtype.F16} {
			t.Run(arch+"/"+d.String(), func(t *testing.T) {
				all := attentions()
				for _, name := range slices.Sorted(maps.Keys(all)) {
					art := attentionKernel(t, to, d, all[name])
					n := byPTXAS(t, arch, string(art.Code))
					require.LessOrEqual(t, n.memory, 24, "%s: bytes of spills", name)
					t.Logf("| %s | %v attention%s | %d | %d |", arch, d, name, n.vector, art.Shared)
				}
			})
		}
	}
}

// attentions are what [attention.Problem] can have: each changes one, and has views of a type and
// shape.
func attentions() map[string]func(p *attention.Problem, view func(d dtype.DType, shape ...int) ops.View) {
	type view = func(d dtype.DType, shape ...int) ops.View
	return map[string]func(p *attention.Problem, v view){
		"":                      func(*attention.Problem, view) {},
		" of one query, splits": func(p *attention.Problem, v view) { p.Q = v(p.Q.DType, 1, 8, 4, 1, 128) },
		", causal": func(p *attention.Problem, v view) {
			p.Q, p.K, p.V, p.Right = v(p.Q.DType, 1, 32, 1, 1024, 128), v(p.Q.DType, 1, 32, 1024, 128), v(p.Q.DType, 1, 32, 1024, 128), 0
		},
		", causal, splits": func(p *attention.Problem, _ view) { p.Right = 0 },
		", sinks, mask, slopes": func(p *attention.Problem, v view) {
			p.SoftCap, p.Sinks, p.Slopes, p.Mask = 2, v(dtype.F32, 1, 8, 4, 1, 1), v(dtype.F32, 1, 8, 4, 1, 1), v(dtype.F32, 1, 1, 1, 64, 4096)
		},
		", pages, splits": func(p *attention.Problem, v view) {
			p.Q, p.K, p.V = v(p.Q.DType, 1, 8, 4, 1, 128), v(p.Q.DType, 64, 8, 16, 128), v(p.Q.DType, 64, 8, 16, 128)
			p.PageTokens, p.Pages, p.Sequences = 16, make([]int32, 32), []attention.Sequence{{Keys: 500}}
		},
		", functions": func(p *attention.Problem, v view) {
			p.ScoreFunc, p.MaskFunc = jit.Func(kernels.AnyScore), jit.Func(kernels.AnyKey)
		},
		", functions, table of tiles": func(p *attention.Problem, v view) {
			p.ScoreFunc, p.MaskFunc = jit.Func(kernels.AnyScore), jit.Func(kernels.AnyKey)
			p.Right, p.Seen.DType = 0, dtype.U8
		},
		", packed, causal": func(p *attention.Problem, v view) {
			p.Q, p.Packed, p.Right = v(p.Q.DType, 8, 64, 4, 128), true, 0
			p.Sequences = slices.Repeat([]attention.Sequence{{Queries: 60, Keys: 100}}, 20)
		},
	}
}

// TestAttentionGradientRegisters is [TestAttentionRegisters] for gradients by warpgroup instructions,
// which do not wait for each other for want of registers.
func TestAttentionGradientRegisters(t *testing.T) {
	for _, size := range []int{64, 128} {
		for _, causal := range []bool{false, true} {
			for _, of := range []string{"queries", "keys"} {
				name := fmt.Sprintf("%s, heads of %d, causal %v", of, size, causal)
				t.Run(name, func(t *testing.T) {
					art := kernelFor(t, "ptx:sm_90a", func(s *runtime.Stream, view views) error {
						q, row := view(dtype.BF16, 1, 8, 1, 4096, size), view(dtype.F32, 1, 8, 1, 4096)
						kv := view(dtype.BF16, 1, 8, 4096, size)
						p := &attention.Problem{Q: q, K: kv, V: kv, Scale: 0.1, Left: 1 << 40, Right: 1 << 40}
						if causal {
							p.Right = 0
						}
						g := &attention.Gradients{Out: q, LSE: row, Delta: row}
						if of == "queries" {
							g.Q = q
						} else {
							g.K, g.V = kv, kv
						}
						return attention.Backward(s, g, p)
					})
					require.Contains(t, string(art.Code), "cp.async.bulk.tensor")
					n := byPTXAS(t, "sm_90a", string(art.Code))
					require.LessOrEqual(t, n.memory, mostSpills[of], "bytes of spills")
					t.Logf("| %s | %d | %d |", name, n.memory, art.Shared)
				})
			}
		}
	}
}

// mostSpills are bytes: keys have the sums of two results.
var mostSpills = map[string]int{"queries": 0, "keys": 8}

// views returns memory of a type and shape.
type views func(d dtype.DType, shape ...int) ops.View

// attentionKernel returns the kernel that a device would be asked for, compiled for a target.
func attentionKernel(t *testing.T, to string, d dtype.DType, change func(p *attention.Problem, view func(d dtype.DType, shape ...int) ops.View)) (art *compiler.Artifact) {
	return kernelFor(t, to, func(s *runtime.Stream, view views) error {
		p := &attention.Problem{
			Q: view(d, 1, 8, 4, 64, 128), K: view(d, 1, 8, 4096, 128), V: view(d, 1, 8, 4096, 128),
			Scale: 0.1, Left: 1 << 40, Right: 1 << 40,
		}
		change(p, view)
		if p.Seen.DType != 0 {
			p.Seen.DType = 0
			shape, err := attention.SeenShape(s.Device(), p)
			require.NoError(t, err)
			p.Seen = view(dtype.U8, shape...)
		}
		q := p.Q.Layout.Shape()
		return attention.Forward(s, view(d, q...), view(dtype.F32, q[:len(q)-1]...), p)
	})
}

// kernelFor returns the kernel that a function asks for, compiled for a target.
func kernelFor(t *testing.T, to string, run func(s *runtime.Stream, view views) error) (art *compiler.Artifact) {
	tgt, err := target.Parse(to)
	require.NoError(t, err)
	dev := openInterpreter(t, "")
	defer detour.Take(&detour.Way{
		Loads:  compiler.FormatIR,
		Target: func(string) (target.Target, error) { return tgt, nil },
		Emit: func(p *compiler.Program, tgt target.Target, opt compiler.Options) (*compiler.Artifact, error) {
			art, err = p.Emit(tgt, opt)
			require.NoError(t, err)
			return nil, errSeen
		},
	})()
	defer pretend.Be(func(info *runtime.Info) {
		info.Units, info.WarpSize, info.ThreadsPerUnit, info.SharedPerBlock = 132, 32, 2048, 227<<10
	})()
	memory, err := runtime.Alloc[uint16](dev, 1<<25)
	require.NoError(t, err)
	view := func(d dtype.DType, shape ...int) ops.View {
		return ops.View{Buf: memory.Buffer(), DType: d, Layout: layout.Contiguous(shape)}
	}
	require.ErrorIs(t, run(dev.DefaultStream(), view), errSeen)
	require.NotNil(t, art)
	return art
}
