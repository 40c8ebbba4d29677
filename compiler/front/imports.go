package front

import (
	"errors"
	"path"
	"strings"

	"github.com/gokiln/kiln/compiler/front/internal/source"
)

// findImport returns the import of f that name refers to, and its unit if
// kernels can use it.
func (b *build) findImport(f *source.File, name string) (*source.Import, *source.Unit, error) {
	var rest []*source.Import
	for _, im := range f.Imports {
		switch {
		case im.Name == name || im.Name == "" && guessName(im.Path) == name:
			u, err := b.unit(im.Path)
			return im, u, err
		case im.Name == "":
			rest = append(rest, im)
		}
	}
	for _, im := range rest { // the package's name may differ from its path
		if u, err := b.unit(im.Path); err == nil && u.Name == name {
			return im, u, nil
		}
	}
	return nil, nil, errors.New("not imported")
}

// guessName returns the name that a package with this path usually has.
func guessName(p string) string {
	base := path.Base(p)
	if rest, ok := strings.CutPrefix(base, "v"); ok && rest != "" && strings.Trim(rest, "0123456789") == "" {
		base = path.Base(path.Dir(p))
	}
	base, _, _ = strings.Cut(base, ".v")
	return strings.TrimPrefix(base, "go-")
}
