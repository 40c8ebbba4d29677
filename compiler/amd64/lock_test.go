package amd64

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// atomicKernel has one atomic operation on global memory. The kernels differ in whether the old
// value is used and in whether the threads' operands and addresses are the same: each of these is
// made in a way of its own.
const atomicKernel = `module "k.K"

kernel @K(%%0: ptr<global,%[1]s>, %%1: i64, %%2: ptr<global,%[1]s>, %%3: i64) args(x slice %[1]s "[]%[2]s", y slice %[1]s "[]%[2]s") {
b0:
  %%4 = thread 0 : i64
  %%5 = offset %%0, %%4 : ptr<global,%[1]s>
  %%6 = load %%0 : %[1]s
  %%7 = load %%5 : %[1]s
  %%8 = offset %%2, %%4 : ptr<global,%[1]s>
  %%9 = lt %%4, %%1 : bool
  %[3]s
b1:
  %%10 = %[4]s : %[1]s
  %[5]s
  jump b2
b2:
  ret
}
`

// changesMemory matches the instructions that atomic operations change memory with. An
// exchange is locked by itself.
var changesMemory = regexp.MustCompile(`(?m)^\s*(?:[0-9a-f]+:?\s+)*((?:lock[ _])?)(cmpxchg|xadd|add|and|or|xor)\b[^\n,\[]*\[[^\]]*\]`)

// TestAtomicsAreLocked checks that no atomic operation on memory that other cores share is an
// instruction that another core may come between.
func TestAtomicsAreLocked(t *testing.T) {
	ops := map[string]string{"add": "f32 i32 u64 f64 f16", "min": "i32", "max": "u64", "and": "u32", "or": "u32", "xor": "u64", "cas": "u32 i64 f32"}
	for _, name := range []string{"amd64:avx2", "amd64:avx512"} {
		for op, types := range ops {
			for _, typ := range strings.Fields(types) {
				for _, at := range []string{"%2", "%8"} {
					for _, operand := range []string{"%6", "%7"} {
						for _, used := range []string{"", "store %5, %10"} {
							for _, enter := range []string{"br %9, b1, b2", "jump b1"} {
								call := fmt.Sprintf("atomic.%s %s, %s", op, at, operand)
								if op == "cas" {
									call += ", %6"
								}
								locked(t, name, fmt.Sprintf(atomicKernel, typ, typ, enter, call, used), call+" of "+typ+" "+enter)
							}
						}
					}
				}
			}
		}
	}
}

func locked(t *testing.T, tgt, source, what string) {
	t.Helper()
	text := codeOf(t, tgt, source)
	n := 0
	for _, found := range changesMemory.FindAllStringSubmatch(text, -1) {
		if strings.Contains(found[0], "r14") || strings.Contains(found[0], "r15") {
			continue // what belongs to the vector or the launch
		}
		n++
		assert.NotEmpty(t, found[1], "%s on %s: %s", what, tgt, found[0])
	}
	assert.NotZero(t, n, "%s on %s: no instruction changes memory\n%s", what, tgt, text)
}
