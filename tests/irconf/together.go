package irconf

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// Written returns the cases that language l has for t, and for the others the reason
// why it has them not, by name.
func Written(l *cfamily.Language, t target.Target, cases []Case) (have []Case, lacks map[string]error, err error) {
	lacks = map[string]error{}
	for _, c := range cases {
		m, err := ir.Parse(c.Text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		if _, err := l.Emit(m, t, cfamily.Options{}); err != nil {
			lacks[c.Name] = err
		} else {
			have = append(have, c)
		}
	}
	return have, lacks, nil
}

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
