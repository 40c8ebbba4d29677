package ptx_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/ops/conv/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/matmul"
)

// weightsText is the kernel for gradients of weights as PTX.
func (c *implicitConfig) weightsText(t *testing.T) []byte {
	req := front.Request{
		Pkg: "github.com/gokiln/kiln/ops/conv/kernels", Func: "ImplicitWeights", TypeArgs: []string{"dsl.BF16", "float32"},
		Consts: map[string]int64{
			"g.Implicit.Flat": 1, "g.Implicit.Strided": 0, "g.Implicit.Rank": 2, "cfg.M": c.m, "cfg.N": c.n, "cfg.K": 64, "cfg.Down": c.down, "cfg.Across": c.across, "cfg.Stages": c.stages,
			"cfg.Chunk": 8, "cfg.A": 1, "cfg.B": 1, "cfg.AVec": 1, "cfg.BVec": 1, "cfg.Bulk": c.bulk, "cfg.Cluster": 1, "cfg.OutSize": 0, "cfg.Promote": 0,
		},
		Funcs: map[string]front.Func{"mad": {Pkg: "github.com/gokiln/kiln/ops/kernels", Name: "MadReal[float32]"}},
	}
	prog, err := compiler.Front(req, compiler.Registered)
	require.NoError(t, err)
	tgt, err := target.Parse("ptx:" + c.arch)
	require.NoError(t, err)
	art, err := prog.Emit(tgt, compiler.Options{Assume: compiler.Small | compiler.Aligned | compiler.Disjoint})
	require.NoError(t, err)
	return art.Code
}

// TestWeights runs gradients of weights of 3x2 with padding and a stride in the simulator, in parts of 128
// positions.
func TestWeights(t *testing.T) {
	const inputs, high, wide, channels, down, across, n, outHigh, outWide, part = 2, 17, 12, 72, 3, 2, 40, 9, 11, 128
	for _, c := range []implicitConfig{
		{arch: "sm_80", m: 64, n: 64, down: 2, across: 1, stages: 3}, {arch: "sm_90a", m: 64, n: 64, down: 4, across: 1, stages: 4},
		{arch: "sm_90a", m: 128, n: 64, down: 8, across: 1, stages: 4, bulk: 1},
	} {
		t.Run(fmt.Sprintf("%s/%dx%d/%d", c.arch, c.m, c.n, c.bulk), func(t *testing.T) {
			t.Parallel()
			padded := channels
			if c.bulk != 0 {
				padded = 128
			}
			var g kernels.WeightSums
			g.M, g.N, g.K, g.Groups, g.XChannels = inputs*outHigh*outWide, n, down*across*padded, 1, channels
			g.OutDiv = [3]core.Divisor{divisor(1), divisor(outHigh), divisor(outWide)}
			g.KernelDiv = [3]core.Divisor{divisor(1), divisor(down), divisor(across)}
			g.Image, g.Channels = divisor(outHigh*outWide), divisor(padded)
			g.In, g.Kernel, g.Stride, g.First, g.Step = [3]int{1, high, wide}, [3]int{1, down, across}, [3]int{1, 2, 1}, [3]int{0, -1, 0}, [3]int{1, 1, 1}
			g.X, g.XImage, g.Y, g.YGroup = [3]int{0, wide * channels / 8, channels / 8}, high*wide*channels/8, n, n
			g.Real, g.Part, g.Total = channels, part, down*across*channels
			g.Parts = n * g.Total
			g.Order = matmul.NewRaster(g.K, n, int(c.m), int(c.n), 1, (g.M+part-1)/part)
			rng := rand.New(rand.NewPCG(1, 2))
			draw := func(n int) (values []float32, bytes []byte) {
				for range n {
					v := float32(rng.IntN(9)-4) / 2
					values = append(values, v)
					bytes = binary.LittleEndian.AppendUint16(bytes, uint16(math.Float32bits(v)>>16))
				}
				return values, bytes
			}
			x, xs := draw(inputs * high * wide * channels)
			y, ys := draw(g.M * n)
			pixels := ptx.SimPixels{
				Addr: 2 << 32, Elem: 2, Axes: 2, Count: 64, Channels: channels, Images: inputs, Sizes: [3]uint16{wide, high},
				Strides: [4]uint32{2 * channels, 2 * wide * channels, 0, 2 * high * wide * channels},
				Lower:   [3]int16{0, -1}, Upper: [3]int16{outWide - wide, 2*outHigh - 2 - high}, Steps: [3]uint8{1, 2},
			}
			parts := (g.M + part - 1) / part
			args := pixels.Bytes()
			args = append(args, ptx.SimMap(3<<32, 2, [3]int{n, g.M, 1}, [2]int{2 * n, 0}, [3]int{64, 64, 1})...)
			out := make([]byte, 4*g.Parts*parts)
			for i, length := range []int{g.Parts * parts, len(x), len(y)} {
				args = binary.LittleEndian.AppendUint64(args, uint64(i+1)<<32)
				args = binary.LittleEndian.AppendUint64(args, uint64(length))
			}
			args = append(args, unsafe.Slice((*byte)(unsafe.Pointer(&g)), unsafe.Sizeof(g))...)
			args = append(args, make([]byte, 8*20)...) // compile-time values, of which nothing is read
			threads := int(c.down*c.across)*32 + 128*int(c.bulk)
			text := string(c.weightsText(t))
			for _, early := range []bool{false, true} {
				clear(out)
				require.NoError(t, ptx.Simulate(text, early, [3]int{2, 1, 1}, [3]int{threads, 1, 1}, args, [][]byte{out, xs, ys}))
				for i := range g.Parts {
					col, tap, channel := i/g.Total, i%g.Total/channels, i%channels
					for p := range parts {
						want := float32(0)
						for k := p * part; k < min(g.M, (p+1)*part); k++ {
							image, at := k/(outHigh*outWide), k%(outHigh*outWide)
							r, s := at/outWide*2-1+tap/across, at%outWide+tap%across
							if r >= 0 && r < high && s < wide {
								want += x[((image*high+r)*wide+s)*channels+channel] * y[k*n+col]
							}
						}
						require.Equal(t, want, math.Float32frombits(binary.LittleEndian.Uint32(out[4*(p*g.Parts+i):])), "channel %d, %d at %d, part %d", col, channel, tap, p)
					}
				}
			}
		})
	}
}

// TestWeightsAssemble gives the configurations for gradients of weights to the vendor's assembler.
func TestWeightsAssemble(t *testing.T) {
	ptxas := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	for _, c := range []implicitConfig{
		{arch: "sm_90a", m: 128, n: 128, down: 8, across: 1, stages: 6, bulk: 1},
		{arch: "sm_90a", m: 128, n: 64, down: 8, across: 1, stages: 8, bulk: 1}, {arch: "sm_90a", m: 64, n: 64, down: 4, across: 1, stages: 4},
		{arch: "sm_80", m: 128, n: 128, down: 2, across: 4, stages: 3},
	} {
		t.Run(fmt.Sprintf("%s/%dx%d/%d", c.arch, c.m, c.n, c.bulk), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "weights.ptx")
			require.NoError(t, os.WriteFile(file, c.weightsText(t), 0o600))
			out, err := exec.Command(ptxas, "-v", "-arch="+c.arch, "-o", file+".cubin", file).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
			require.NotContains(t, string(out), "warning")
		})
	}
}
