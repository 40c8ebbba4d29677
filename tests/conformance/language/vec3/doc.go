// Package vec3 is a kernel package that the kernels of package language use.
package vec3
