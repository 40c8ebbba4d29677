package irconf

import (
	"fmt"

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

// Together writes the kernels of cases in a C-like language as one text: starting a
// compiler takes longer than most of them. The kernel of case i is k followed by i.
func Together(l *cfamily.Language, t target.Target, cases []Case) (string, error) {
	modules := make([]*ir.Module, len(cases))
	for i, c := range cases {
		m, err := ir.Parse(c.Text)
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.Name, err)
		}
		m.Kernel().Name = fmt.Sprintf("k%d", i)
		modules[i] = m
	}
	return l.EmitAll(modules, t, cfamily.Options{})
}
