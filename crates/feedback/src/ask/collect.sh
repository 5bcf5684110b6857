# Prints the reports that runners wrote: those in our directory, $1, and those that Maven and Gradle leave beside the code.
for file in "$1"/out/*; do
  if [ -f "$file" ]; then cat -- "$file" && echo; fi
done
for sign in pom.xml build.gradle build.gradle.kts settings.gradle settings.gradle.kts; do
  if [ -e "$sign" ]; then
    find . \( -name node_modules -o -name .git \) -prune -o -type f -newer "$1/began" \( -path '*/target/surefire-reports/TEST-*.xml' \
      -o -path '*/target/failsafe-reports/TEST-*.xml' -o -path '*/build/test-results/*/TEST-*.xml' \) -exec cat -- {} \; -exec echo \; 2>/dev/null
    break
  fi
done
exit 0
