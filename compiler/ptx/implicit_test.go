package ptx_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
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

// implicitConfig is a configuration of an implicit GEMM.
type implicitConfig struct {
	arch                             string
	m, n, down, across, stages, many int64
	bulk, cluster, outSize           int64
	tf32                             bool // not bfloat16
}

// text is the kernel as PTX.
func (c *implicitConfig) text(t *testing.T, flat int64) []byte {
	req := front.Request{
		Pkg: "github.com/gokiln/kiln/ops/conv/kernels", Func: "ImplicitGemm", TypeArgs: []string{"dsl.BF16", "dsl.BF16", "float32"},
		Consts: map[string]int64{
			"pairs": 1, "blocks": c.many, "g.Flat": flat, "g.Strided": 0, "g.Rank": 2, "cfg.M": c.m, "cfg.N": c.n, "cfg.K": 64, "cfg.Down": c.down, "cfg.Across": c.across, "cfg.Stages": c.stages,
			"cfg.Chunk": 8, "cfg.A": 0, "cfg.B": 0, "cfg.AVec": 1, "cfg.BVec": 1, "cfg.Bulk": c.bulk, "cfg.Cluster": max(c.cluster, 1), "cfg.OutSize": c.outSize, "cfg.Promote": 0,
		},
		Funcs: map[string]front.Func{"mad": {Pkg: "github.com/gokiln/kiln/ops/kernels", Name: "MadReal[float32]"}},
	}
	if c.tf32 {
		req.TypeArgs, req.Consts["cfg.K"], req.Consts["cfg.Chunk"] = []string{"float32", "dsl.TF32", "float32"}, 32, 4
	}
	prog, err := compiler.Front(req, compiler.Registered)
	require.NoError(t, err)
	tgt, err := target.Parse("ptx:" + c.arch)
	require.NoError(t, err)
	art, err := prog.Emit(tgt, compiler.Options{Assume: compiler.Small | compiler.Aligned | compiler.Disjoint})
	require.NoError(t, err)
	return art.Code
}

// divisor is one for the numbers of the test.
func divisor(n int) core.Divisor {
	shift := bits.Len(uint(n - 1))
	return core.Divisor{By: uint32(n), Mul: uint32((1<<32)*((1<<shift)-uint64(n))/uint64(n) + 1), Shift: uint32(shift)}
}

// TestImplicit runs convolutions of 3x3 with padding and a stride in the simulator, whose input and
// result have their channels innermost. With bulk copies weights have numbers behind the channels that
// there are, which count nothing, and blocks have several tiles.
func TestImplicit(t *testing.T) {
	const inputs, high, wide, channels, side, n, outHigh, outWide = 2, 7, 9, 24, 3, 72, 4, 9
	for _, c := range []implicitConfig{
		{arch: "sm_90a", m: 64, n: 64, down: 4, across: 1, stages: 4, many: 2}, {arch: "sm_90a", m: 128, n: 128, down: 8, across: 1, stages: 3, many: 1},
		{arch: "sm_80", m: 64, n: 64, down: 2, across: 1, stages: 3, many: 1},
		{arch: "sm_90a", m: 64, n: 64, down: 4, across: 1, stages: 4, many: 1, bulk: 1}, {arch: "sm_90a", m: 64, n: 64, down: 4, across: 1, stages: 3, many: 1, bulk: 1, cluster: 2, outSize: 2},
	} {
		t.Run(fmt.Sprintf("%s/%dx%d/%d.%d", c.arch, c.m, c.n, c.bulk, c.cluster), func(t *testing.T) {
			t.Parallel()
			padded := channels
			if c.bulk != 0 {
				padded = 64
			}
			g := kernels.Implicit{M: inputs * outHigh * outWide, N: n, K: side * side * padded, Groups: 1, XChannels: channels}
			g.OutDiv = [3]core.Divisor{divisor(1), divisor(outHigh), divisor(outWide)}
			g.KernelDiv = [3]core.Divisor{divisor(1), divisor(side), divisor(side)}
			g.Image, g.Channels = divisor(outHigh*outWide), divisor(padded)
			g.In, g.Kernel, g.Stride, g.First, g.Step = [3]int{1, high, wide}, [3]int{1, side, side}, [3]int{1, 2, 1}, [3]int{0, -1, -1}, [3]int{1, 1, 1}
			g.X, g.XImage, g.Y = [3]int{0, wide * channels / 8, channels / 8}, high*wide*channels/8, g.K
			g.Out, g.OutImage, g.OutChannel = n, outHigh*outWide*n, 1
			g.Order = matmul.NewRaster(g.M, n, int(c.m*max(c.cluster, 1)), int(c.n), 1, 1)
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
			y, ys := draw(n * g.K)
			pixels := ptx.SimPixels{
				Addr: 2 << 32, Elem: 2, Axes: 2, Count: uint16(c.m), Channels: channels, Images: inputs, Sizes: [3]uint16{wide, high},
				Strides: [4]uint32{2 * channels, 2 * wide * channels, 0, 2 * high * wide * channels},
				Lower:   [3]int16{-1, -1}, Upper: [3]int16{outWide - 1 - wide, 2*outHigh - 2 - high}, Steps: [3]uint8{1, 2},
			}
			args := pixels.Bytes()
			args = append(args, ptx.SimMap(3<<32, 2, [3]int{g.K, n, 1}, [2]int{2 * g.K, 0}, [3]int{64, int(c.n / max(c.cluster, 1)), 1})...)
			args = append(args, ptx.SimMap(1<<32, 2, [3]int{n, g.M, 1}, [2]int{2 * n, 0}, [3]int{64, 16, 1})...)
			out := make([]byte, 2*g.M*n)
			for i, length := range []int{g.M * n, len(x), len(y)} {
				args = binary.LittleEndian.AppendUint64(args, uint64(i+1)<<32)
				args = binary.LittleEndian.AppendUint64(args, uint64(length))
			}
			args = append(args, unsafe.Slice((*byte)(unsafe.Pointer(&g)), unsafe.Sizeof(g))...)
			args = append(args, make([]byte, 8*20)...) // compile-time values, of which nothing is read
			blocks, threads := (g.M+int(c.m)-1)/int(c.m)*((n+int(c.n)-1)/int(c.n)), int(c.down*c.across)*32
			if c.bulk != 0 {
				blocks, threads = int(max(c.cluster, 1)), threads+128
			}
			text := string(c.text(t, int64(len(c.arch)%2)))
			for _, early := range []bool{false, true} {
				clear(out)
				require.NoError(t, ptx.Simulate(text, early, [3]int{blocks, 1, 1}, [3]int{threads, 1, 1}, args, [][]byte{out, xs, ys}))
				for i := range g.M * n {
					at, col := i/n, i%n
					image, row, across := at/(outHigh*outWide), at/outWide%outHigh, at%outWide
					want := float32(0)
					for k := range side * side * channels {
						tap, channel := k/channels, k%channels
						r, s := row*2-1+tap/side, across-1+tap%side
						if r >= 0 && r < high && s >= 0 && s < wide {
							want += x[((image*high+r)*wide+s)*channels+channel] * y[col*g.K+tap*padded+channel]
						}
					}
					rounded := math.Float32frombits((math.Float32bits(want) + 0x7fff + math.Float32bits(want)>>16&1) &^ 0xffff)
					require.Equal(t, rounded, math.Float32frombits(uint32(binary.LittleEndian.Uint16(out[2*i:]))<<16), "position %d, channel %d", at, col)
				}
			}
		})
	}
}

// TestImplicitAssemble gives configurations of convolutions to the vendor's assembler: nothing is
// spilled, with as many registers as several resident blocks leave.
func TestImplicitAssemble(t *testing.T) {
	ptxas := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	for _, c := range []implicitConfig{
		{"sm_90a", 128, 256, 8, 1, 4, 1, 0, 0, 0, false}, {"sm_90a", 128, 128, 8, 1, 3, 2, 0, 0, 0, false}, {"sm_90a", 128, 64, 8, 1, 4, 2, 0, 0, 0, false}, {"sm_90a", 64, 64, 4, 1, 4, 2, 0, 0, 0, false},
		{"sm_80", 128, 128, 2, 4, 3, 1, 0, 0, 0, false}, {"sm_80", 64, 64, 2, 1, 4, 1, 0, 0, 0, false},
		{"sm_90a", 128, 256, 8, 1, 4, 1, 1, 1, 2, false}, {"sm_90a", 192, 128, 12, 1, 4, 1, 1, 2, 2, false}, {"sm_90a", 256, 64, 16, 1, 4, 1, 1, 1, 2, false}, {"sm_90a", 128, 128, 8, 1, 6, 1, 1, 1, 0, false},
		{"sm_90a", 192, 128, 12, 1, 4, 1, 1, 1, 4, true}, {"sm_90a", 128, 64, 8, 1, 4, 2, 0, 0, 0, true}, {"sm_80", 64, 64, 2, 1, 4, 1, 0, 0, 0, true},
	} {
		t.Run(fmt.Sprintf("%s/%dx%d/%d/%v", c.arch, c.m, c.n, c.bulk, c.tf32), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "implicit.ptx")
			require.NoError(t, os.WriteFile(file, c.text(t, 1), 0o600))
			out, err := exec.Command(ptxas, "-v", "-arch="+c.arch, "-o", file+".cubin", file).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
			require.NotContains(t, string(out), "warning")
		})
	}
}
