# Compute the areas of three markers and their tests in delong1988.json from the rows of this file.
#
# Run from anywhere, with pROC and jsonlite installed:
#
#     Rscript tests/reference/make_delong1988.R
#
# The script prints the numbers with 17 significant digits and writes no file. The areas, standard
# errors and covariances in delong1988.json were computed with pROC 1.18.0. The tests follow from
# them by the formulas below.

library(pROC)

script <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
stored <- jsonlite::fromJSON(file.path(dirname(script), "delong1988.json"))
rows <- stored$rows
colnames(rows) <- stored$columns

markers <- c("alb", "totscore", "tp")
curves <- lapply(markers, function(marker) {
  roc(rows[, "popind"], rows[, marker], levels = c(0, 1), direction = "<")
})
areas <- vapply(curves, function(curve) as.numeric(auc(curve)), numeric(1))
names(areas) <- markers

covariance <- matrix(0, 3, 3, dimnames = list(markers, markers))
for (i in 1:3) {
  covariance[i, i] <- pROC::var(curves[[i]], method = "delong")
  for (j in setdiff(1:3, i)) {
    covariance[i, j] <- pROC::cov(curves[[i]], curves[[j]], method = "delong")
  }
}

# Each row of the matrix is the area of a marker minus the area of totscore.
contrasts <- rbind(alb = c(1, -1, 0), tp = c(0, -1, 1))
difference <- drop(contrasts %*% areas)
variance <- contrasts %*% covariance %*% t(contrasts)
se <- sqrt(diag(variance))
chi_squared <- (difference / se)^2
statistic <- drop(difference %*% solve(variance, difference))

options(digits = 17)
print(list(
  auc = areas,
  se = sqrt(diag(covariance)),
  covariance = covariance,
  minus_totscore = data.frame(
    difference = difference,
    se = se,
    lower = difference - qnorm(0.975) * se,
    upper = difference + qnorm(0.975) * se,
    chi_squared = chi_squared,
    p_value = pchisq(chi_squared, 1, lower.tail = FALSE)
  ),
  contrast = c(
    statistic = statistic,
    df = nrow(contrasts),
    p_value = pchisq(statistic, nrow(contrasts), lower.tail = FALSE)
  )
))
