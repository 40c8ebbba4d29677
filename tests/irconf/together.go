package irconf

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// Together writes the kernels of cases in a language of C++ as one text, each in a
// namespace of its own: starting a compiler takes longer than most of them. The
// kernel of case i is k followed by i.
func Together(l *cfamily.Language, t target.Target, cases []Case) (string, error) {
	var b strings.Builder
	for i, c := range cases {
		m, err := ir.Parse(c.Text)
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.Name, err)
		}
		m.Kernel().Name = fmt.Sprintf("k%d", i)
		text, err := l.Emit(m, t, cfamily.Options{})
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.Name, err)
		}
		fmt.Fprintf(&b, "namespace n%d { // %s\n%s}\n", i, c.Name, text)
	}
	return b.String(), nil
}
