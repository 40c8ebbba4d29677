package models

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
	"github.com/gokiln/kiln/tensor/torch"
)

// openWeights opens the weights of a folder, or those that a path names: safetensors files, those
// of PyTorch, or the index of either.
func openWeights(path string, folder bool) (*file.Set, error) {
	switch {
	case !folder && filepath.Ext(path) == ".json":
		return safetensors.OpenIndexWith(path, openFile)
	case !folder:
		return openFile(path)
	}
	for _, name := range []string{"model.safetensors", "*.safetensors", "pytorch_model.bin"} {
		if index := filepath.Join(path, name+".index.json"); exists(index) {
			return safetensors.OpenIndexWith(index, openFile)
		}
		list, err := fs.Glob(os.DirFS(path), name)
		if err != nil {
			return nil, err
		}
		for i := range list {
			list[i] = filepath.Join(path, list[i])
		}
		switch len(list) {
		case 0:
		case 1:
			return openFile(list[0])
		default:
			return safetensors.OpenAll(list...)
		}
	}
	return nil, fmt.Errorf("%w: no safetensors files and no pytorch_model.bin in %s",
		errNoWeights, path)
}

// openFile opens a file of tensors.
func openFile(path string) (*file.Set, error) {
	if slices.Contains([]string{".bin", ".pth", ".pt"}, filepath.Ext(path)) {
		return torch.Open(path)
	}
	return safetensors.Open(path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
