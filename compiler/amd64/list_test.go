package amd64

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// codeOf returns the listing for a target of the kernel that source is the IR of.
func codeOf(t *testing.T, name, source string) string {
	t.Helper()
	tgt, err := target.Parse(name)
	require.NoError(t, err)
	m, err := ir.Parse(source)
	require.NoError(t, err, source)
	text, err := Options{}.List(m, tgt)
	require.NoError(t, err, source)
	return text
}

// A listing names lines once, fields of the context and constants, and has a label only
// where something jumps to.
func TestList(t *testing.T) {
	const source = `module "k.Twice"

kernel @Twice(%0: ptr<global,f32>, %1: i64) args(x slice f32 "[]float32") {
b0:
  %2 = thread 0 : i64 !1
  %3 = lt %2, %1 : bool !1
  br %3, b1, b2 !1
b1:
  %4 = const 1.5 : f32 !2
  %5 = offset %0, %2 : ptr<global,f32> !2
  %6 = load %5 : f32 !2
  %7 = mul %6, %4 : f32 !3
  store %5, %7 !2
  jump b2 !2
b2:
  ret !4
}

pos !1 "k.go" 5 2
pos !2 "k.go" 6 2
pos !3 "k.go" 6 9
pos !4 "k.go" 8 1
`
	for _, name := range []string{"amd64:avx2", "amd64:avx512"} {
		text := codeOf(t, name, source)
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		assert.Contains(t, text, "# Twice for "+tgt.String())
		assert.Contains(t, text, "# first thread of the vector x\n")
		assert.Contains(t, text, "# around the kernel")
		assert.Contains(t, text, "3fc00000", "the constant 1.5")
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if i > 0 && strings.HasPrefix(line, "\t\t\t\t#") {
				assert.NotEqual(t, line, lines[i-1])
			}
			if strings.HasPrefix(line, ".") {
				label := strings.TrimSuffix(line, ":")
				assert.Contains(t, strings.ReplaceAll(text, line, ""), label, "nothing jumps there")
			}
		}
	}
}

func TestFieldNames(t *testing.T) {
	for at, want := range map[int32]string{
		image.CtxArgs: "arguments", image.CtxBlock + 16: "block z", image.CtxFaultValues + 8: "values of the failed check",
		ctxThread: "first thread of the vector x", ctxVec: "number of the vector", ctxBuffer: "", ctxVec + 8: "",
	} {
		assert.Equal(t, want, fieldName(at), at)
	}
}

// A loop over the grid asks for what it reads some turns later, one over a block does not
// unless its turns are long: the processor sees that by itself. Both are left at once when
// no lane goes round again.
func TestStrides(t *testing.T) {
	const source = `module "k.Copy"

kernel @Copy(%0: ptr<global,f32>, %1: i64, %2: ptr<global,f32>, %3: i64) args(x slice f32 "[]float32", y slice f32 "[]float32") {
b0:
  %4 = thread 0 : i64
  %5 = blockdim 0 : i64
  %6 = griddim 0 : i64
  %7 = mul %5, %6 : i64
  jump b1(%4)
b1(%8: i64):
  %9 = lt %8, %1 : bool
  br %9, b2, b3
b2:
  %10 = offset %2, %8 : ptr<global,f32>
  %11 = load %10 : f32
  %12 = offset %0, %8 : ptr<global,f32>
  store %12, %11
  %13 = add %8, STEP : i64
  jump b1(%13)
b3:
  ret
}
`
	for _, name := range []string{"amd64:avx2", "amd64:avx512"} {
		for step, want := range map[string]int{"%7": 1, "%5": 0} {
			text := codeOf(t, name, strings.ReplaceAll(source, "STEP", step))
			assert.Equal(t, want, strings.Count(text, "prefetcht0"), "%s: %s", step, text)
		}
		long := strings.NewReplacer("STEP", "%5", "f32", "u32", "store %12, %11", "%14 = atomic.add %12, %11 : u32").Replace(source)
		text := codeOf(t, name, long)
		assert.Equal(t, 1, strings.Count(text, "prefetcht0"), text)
	}
}

// A kernel with warp operations is launched with whole warps alone, so that no vector of it
// needs a mask for what it loads and stores.
func TestWholeWarps(t *testing.T) {
	const source = `module "k.Swap"

kernel @Swap(%0: ptr<global,f32>, %1: i64) args(x slice f32 "[]float32") {
b0:
  %2 = thread 0 : i64
  %3 = offset %0, %2 : ptr<global,f32>
  %4 = load %3 : f32
  %5 = const 1 : i32
  %6 = OP : f32
  store %3, %6
  ret
}
`
	for name, masked := range map[string]string{"amd64:avx2": "vpmaskmovd", "amd64:avx512": "{k1}"} {
		for op, want := range map[string]bool{"shfl.xor %4, %5": false, "add %4, %4": true} {
			text := codeOf(t, name, strings.ReplaceAll(source, "OP", op))
			_, rows, _ := strings.Cut(text, "# for blocks whose rows of threads along x are cut into vectors")
			assert.Equal(t, want, strings.Contains(rows, masked), "%s: %s", name, rows)
		}
	}
}

// A choice of the larger or the smaller of two numbers is one instruction.
func TestChosenExtreme(t *testing.T) {
	const source = `module "k.Larger"

kernel @Larger(%0: ptr<global,f32>, %1: i64) args(x slice f32 "[]float32") {
b0:
  %2 = thread 0 : i64
  %3 = offset %0, %2 : ptr<global,f32>
  %4 = load %3 : f32
  %5 = mul %4, %4 : f32
  %6 = REL %4, %5 : bool
  %7 = select %6, ARGS : f32
  store %3, %7
  ret
}
`
	for _, c := range []struct{ rel, args, want string }{
		{"gt", "%4, %5", "vmaxps"}, {"lt", "%4, %5", "vminps"}, {"gt", "%5, %4", "vminps"}, {"lt", "%5, %4", "vmaxps"}, {"ge", "%4, %5", "vblendvps"},
	} {
		text := codeOf(t, "amd64:avx2", strings.NewReplacer("REL", c.rel, "ARGS", c.args).Replace(source))
		assert.Contains(t, text, c.want, "%v", c)
		assert.Equal(t, c.rel == "ge", strings.Contains(text, "vcmp"), "%v: %s", c, text)
	}
}
