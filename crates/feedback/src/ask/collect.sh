# Prints the reports that runners wrote: those in our directory, $1, and those that Maven and Gradle leave beside the code.
for file in "$1"/out/*; do
  if [ -f "$file" ]; then cat -- "$file" && echo; fi
done
find . \( -path '*/target/surefire-reports/TEST-*.xml' -o -path '*/target/failsafe-reports/TEST-*.xml' -o -path '*/build/test-results/*/TEST-*.xml' \) \
  -not -path '*/node_modules/*' -type f -newer "$1/began" -exec cat -- {} \; 2>/dev/null | head -c 16000000
exit 0
