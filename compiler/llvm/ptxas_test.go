package llvm

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tests/irconf"
)

var (
	negated = regexp.MustCompile(`(?:neg|abs|sub)\.s16\s+(%rs\d+),`)
	minimum = regexp.MustCompile(`(?:min|max)\.[su](?:16|32)\s+(%\w+),`)
	chosen  = regexp.MustCompile(`selp\.(?:u16|b16|pred)\s+(%\w+),`)
	either  = regexp.MustCompile(`\bor\.pred\s+(%\w+),`)
)

// wrongly returns what ptxas may get wrong in PTX: an instruction whose result another
// one takes.
func wrongly(ptx string, first, second *regexp.Regexp) string {
	for _, m := range first.FindAllStringSubmatch(ptx, -1) {
		for _, use := range second.FindAllString(ptx, -1) {
			if regexp.MustCompile(`[ ,]` + m[1] + `\b`).MatchString(use[strings.IndexByte(use, ',')+1:]) {
				return m[0] + " … " + use
			}
		}
	}
	return ""
}

// faults are the pairs that ptxas gets wrong in programs of irconf that begin with a
// name. A magnitude is an instruction of its own.
var faults = []struct {
	programs      string
	first, second *regexp.Regexp
}{
	{"negated [iu]16: ", negated, regexp.MustCompile(`(cvt\.s\d+\.s16|setp\.\w+\.s16|shr\.s16|(min|max)\.s16)[^;]*;`)},
	{"negated [iu]32: [^m,][^,]*, (least|greatest|within)", minimum, regexp.MustCompile(`(min|max)\.[su](16|32)[^;]*;`)},
	{"negated [iu](32|64): [^,]*(, inverted)?, (below zero|compared|shifted|as a float|as a half)", regexp.MustCompile(`abs\.s\d\d\s+(%\w+),`), regexp.MustCompile(`(setp|shr|cvt|min|max)[^;]*;`)},
	{"(logic|choice) of bools: ", either, regexp.MustCompile(`(and|or|xor|not)\.pred[^;]*;`)},
	{"choice of bools: ", chosen, regexp.MustCompile(`setp[^;]*;`)},
}

var asking = regexp.MustCompile("^(negated|choice|logic) ")

// TestPTXAS looks for what NVIDIA's assembler gets wrong in what LLVM makes of the
// programs that ask for it. Package irconf runs them where there is a GPU.
func TestPTXAS(t *testing.T) {
	tgt := mustTarget(t, "sm_90")
	found := tools(t, tgt)
	var texts []string
	var names []string
	for _, c := range irconf.Cases() {
		if !asking.MatchString(c.Name) {
			continue
		}
		m := parse(t, c.Text)
		m.Kernel().Name = fmt.Sprintf("case%d", len(names))
		text, err := Emit(m, tgt)
		require.NoError(t, err)
		texts, names = append(texts, text), append(names, c.Name)
	}
	require.Greater(t, len(names), 200)
	ptx, err := found.Build(context.Background(), Join(texts), tgt)
	require.NoError(t, err)
	assembled(t, tgt.Arch, ptx)
	entries := strings.Split(string(ptx), ".visible .entry case")[1:]
	require.Len(t, entries, len(names))
	checked := 0
	for i, name := range names {
		require.True(t, strings.HasPrefix(entries[i], fmt.Sprintf("%d(", i)))
		for _, f := range faults {
			if regexp.MustCompile("^" + f.programs).MatchString(name) {
				checked++
				assert.Empty(t, wrongly(entries[i], f.first, f.second), "%s\n%s", name, entries[i])
			}
		}
	}
	require.Greater(t, checked, 150)
}
