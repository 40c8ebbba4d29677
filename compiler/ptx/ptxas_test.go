package ptx

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/target"
)

// TestExtremumOfNegated: an unsigned minimum of a negation is compared in 64 bits, which
// ptxas makes no VIMNMX3 of.
func TestExtremumOfNegated(t *testing.T) {
	tgt, err := target.Parse("ptx:sm_90")
	require.NoError(t, err)
	for _, n := range []string{"  %n = neg %x : u32\n", "  %z = const 0 : u32\n  %n = sub %z, %x : u32\n", "  %z = const 4294967295 : u32\n  %n = mul %x, %z : u32\n"} {
		for op, compare := range map[string]string{"min": "lt", "max": "gt"} {
			text, err := Emit(parse(t, fmt.Sprintf("module \"m\"\n\nkernel @k(%%p: ptr<global,u32>, %%len: i64, %%x: u32, %%y: u32) args(p slice u32 \"[]uint32\", x scalar u32 \"uint32\", y scalar u32 \"uint32\") {\nb0:\n%s  %%r = %s %%y, %%n : u32\n  store %%p, %%r\n  ret\n}\n", n, op)), tgt)
			require.NoError(t, err)
			require.Regexp(t, `setp\.`+compare+`\.u64[^\n]*\n\s*selp\.b32`, text)
			require.NotContains(t, text, op+".u32")
		}
	}
}
