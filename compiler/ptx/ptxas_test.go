package ptx

import (
	"fmt"
	"regexp"
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

// TestChoiceOfNegated: so is the comparison of which a selection may become one.
func TestChoiceOfNegated(t *testing.T) {
	tgt, err := target.Parse("ptx:sm_90")
	require.NoError(t, err)
	for op, compare := range map[string]string{"lt": "lt", "le": "le", "gt": "gt", "ge": "ge"} {
		for typ, wide := range map[string]bool{"u32": true, "u16": true, "i32": false} {
			text, err := Emit(parse(t, fmt.Sprintf("module \"m\"\n\nkernel @k(%%p: ptr<global,%[1]s>, %%len: i64, %%x: %[1]s, %%y: %[1]s) args(p slice %[1]s \"[]T\", x scalar %[1]s \"T\", y scalar %[1]s \"T\") {\nb0:\n  %%n = neg %%x : %[1]s\n  %%c = %[2]s %%y, %%n : bool\n  %%r = select %%c, %%y, %%n : %[1]s\n  store %%p, %%r\n  ret\n}\n", typ, op)), tgt)
			require.NoError(t, err)
			require.Equal(t, wide, regexp.MustCompile(`setp\.`+compare+`\.u64`).MatchString(text), text)
		}
	}
}
