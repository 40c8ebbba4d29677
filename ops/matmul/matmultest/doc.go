// Package matmultest has the cases of package matmul: products of matrices. Package suite runs
// them.
package matmultest
