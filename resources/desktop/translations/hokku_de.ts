<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE" sourcelanguage="en_US">
<context>
    <name>hokku::desktop::ChatFile</name>
    <message>
        <source>You can go on; what is new is kept in memory, and stored as soon as that is possible.</source>
        <translation>Weiterschreiben geht; Neues bleibt im Arbeitsspeicher und wird gespeichert, sobald das möglich ist.</translation>
    </message>
    <message>
        <source>The file is left as it is. You can go on, but what is new is lost when Hokku is closed.</source>
        <translation>Die Datei bleibt, wie sie ist. Weiterschreiben geht, doch Neues geht verloren, wenn Hokku beendet wird.</translation>
    </message>
    <message>
        <source>The conversations were written by a newer version of Hokku.</source>
        <translation>Die Unterhaltungen stammen von einer neueren Version von Hokku.</translation>
    </message>
    <message>
        <source>The disk is full: the conversations cannot be stored.</source>
        <translation>Der Datenträger ist voll: Die Unterhaltungen können nicht gespeichert werden.</translation>
    </message>
    <message>
        <source>The file of the conversations is damaged (%1).</source>
        <translation>Die Datei der Unterhaltungen ist beschädigt (%1).</translation>
    </message>
    <message>
        <source>The conversations cannot be stored: %1 cannot be written.</source>
        <translation>Die Unterhaltungen können nicht gespeichert werden: %1 lässt sich nicht schreiben.</translation>
    </message>
    <message>
        <source>The conversations in %1 cannot be read. The file is left as it is. You can go on, but what is new is lost when Hokku is closed.</source>
        <translation>Die Unterhaltungen in %1 sind nicht lesbar. Die Datei bleibt, wie sie ist. Weiterschreiben geht, doch Neues geht verloren, wenn Hokku beendet wird.</translation>
    </message>
    <message>
        <source>The conversations are stored again.</source>
        <translation>Die Unterhaltungen werden wieder gespeichert.</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::ChatOverlays</name>
    <message>
        <source>Copy this code</source>
        <translation>Diesen Code kopieren</translation>
    </message>
    <message>
        <source>Copy this code (%1)</source>
        <translation>Diesen Code kopieren (%1)</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::ChatPage</name>
    <message>
        <source>Deleted: %1</source>
        <translation>Gelöscht: %1</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Reading…</source>
        <translation>Liest&#xa0;…</translation>
    </message>
    <message>
        <source>Reading %1 of %2 tokens…</source>
        <translation>Liest %1 von %2 Token&#xa0;…</translation>
    </message>
    <message>
        <source>Writing…</source>
        <translation>Schreibt&#xa0;…</translation>
    </message>
    <message>
        <source>You are editing a message; sending it begins a new version from here.</source>
        <translation>Diese Nachricht wird bearbeitet; nach dem Senden beginnt hier eine neue Fassung.</translation>
    </message>
    <message>
        <source>You are editing a reply; sending it keeps your version beside it.</source>
        <translation>Diese Antwort wird bearbeitet; nach dem Senden steht die eigene Fassung neben ihr.</translation>
    </message>
    <message>
        <source>Leave out the oldest</source>
        <translation>Älteste weglassen</translation>
    </message>
    <message>
        <source>A quiet place to write</source>
        <translation>Ein stiller Ort zum Schreiben</translation>
    </message>
    <message>
        <source>Ask for a haiku, a letter, an idea. Everything stays on this machine.</source>
        <translation>Ein Haiku, ein Brief, eine Idee: Alles bleibt auf diesem Rechner.</translation>
    </message>
    <message>
        <source>The model no longer reads the oldest turns; they stay in the conversation</source>
        <translation>Das Modell liest die ältesten Beiträge nicht mehr; in der Unterhaltung bleiben sie stehen</translation>
    </message>
    <message>
        <source>Summarise the oldest</source>
        <translation>Älteste zusammenfassen</translation>
    </message>
    <message>
        <source>The model reads a summary that it writes of the oldest turns</source>
        <translation>Das Modell fasst die ältesten Beiträge zusammen und liest nur noch diese Zusammenfassung</translation>
    </message>
    <message>
        <source>Enlarge the context</source>
        <translation>Kontext vergrößern</translation>
    </message>
    <message>
        <source>As far as the memory and the model allow; it costs memory and some speed</source>
        <translation>So weit Speicher und Modell es zulassen; das kostet Speicher und etwas Tempo</translation>
    </message>
    <message>
        <source>The context is full: the model cannot read more of this conversation.</source>
        <translation>Der Kontext ist voll: Mehr von dieser Unterhaltung kann das Modell nicht lesen.</translation>
    </message>
    <message>
        <source>This is the small starter model; larger ones write better: add one under Models (%1).</source>
        <translation>Dies ist das kleine Startmodell; größere schreiben besser und lassen sich unter „Modelle“ (%1) hinzufügen.</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::ChatSession</name>
    <message>
        <source>the conversation is longer than the context</source>
        <translation>Die Unterhaltung ist länger als der Kontext</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::ChatView</name>
    <message>
        <source>Open a link</source>
        <translation>Link öffnen</translation>
    </message>
    <message>
        <source>Open this address outside of Hokku?</source>
        <translation>Diese Adresse außerhalb von Hokku öffnen?</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Conversation</source>
        <translation>Unterhaltung</translation>
    </message>
    <message>
        <source>Jump to the end</source>
        <translation>Zum Ende springen</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::Composer</name>
    <message>
        <source>%1 / %2 tokens</source>
        <translation>%1 / %2 Token</translation>
    </message>
    <message>
        <source>How much of the context the conversation takes, with the text that you are writing. A model sees no more than its context.</source>
        <translation>Wie viel vom Kontext die Unterhaltung belegt, mitsamt dem Text, der gerade entsteht. Mehr als seinen Kontext sieht ein Modell nicht.</translation>
    </message>
    <message>
        <source>Stop the reply</source>
        <translation>Antwort anhalten</translation>
    </message>
    <message>
        <source>Send the message</source>
        <translation>Nachricht senden</translation>
    </message>
    <message>
        <source>Stop (Esc)</source>
        <translation>Anhalten (Esc)</translation>
    </message>
    <message>
        <source>Send (Enter)</source>
        <translation>Senden (Eingabe)</translation>
    </message>
    <message>
        <source>Write a message</source>
        <translation>Nachricht schreiben</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>Nachricht</translation>
    </message>
    <message>
        <source>Enter sends, Shift+Enter begins a new line</source>
        <translation>Eingabe sendet, Umschalt+Eingabe beginnt eine neue Zeile</translation>
    </message>
    <message>
        <source>Context: %1</source>
        <translation>Kontext: %1</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::ContextNotes</name>
    <message>
        <source>the beginning</source>
        <translation>der Anfang</translation>
    </message>
    <message numerus="yes">
        <source>%1 and %n more</source>
        <translation>
            <numerusform>%1 und %n weiterer</numerusform>
            <numerusform>%1 und %n weitere</numerusform>
        </translation>
    </message>
    <message>
        <source>The context was full. No longer read: %1.</source>
        <translation>Der Kontext war voll. Nicht mehr gelesen: %1.</translation>
    </message>
    <message>
        <source>The context was full. Read as a summary: %1.</source>
        <translation>Der Kontext war voll. Als Zusammenfassung gelesen: %1.</translation>
    </message>
    <message>
        <source>The context was full and is now %1 tokens long.</source>
        <translation>Der Kontext war voll und ist nun %1 Token lang.</translation>
    </message>
    <message>
        <source>“%1”</source>
        <translation>„%1“</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::ConversationModel</name>
    <message>
        <source>Folder %1</source>
        <translation>Ordner %1</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>Neuer Chat</translation>
    </message>
    <message>
        <source>%1, pinned</source>
        <translation>%1, angeheftet</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::DataFolder</name>
    <message>
        <source>%1 lies within the folder of today. Please choose one elsewhere.</source>
        <translation>%1 liegt im jetzigen Ordner. Bitte einen anderen wählen.</translation>
    </message>
    <message>
        <source>There are other files in %1. Please choose an empty folder.</source>
        <translation>In %1 liegen andere Dateien. Bitte einen leeren Ordner wählen.</translation>
    </message>
    <message>
        <source>Nothing can be written to %1. Please choose another folder.</source>
        <translation>In %1 kann nichts geschrieben werden. Bitte einen anderen Ordner wählen.</translation>
    </message>
    <message>
        <source>%1 cannot be written.</source>
        <translation>%1 kann nicht geschrieben werden.</translation>
    </message>
    <message>
        <source>The folder %1 is not there.</source>
        <translation>Der Ordner %1 ist nicht da.</translation>
    </message>
    <message>
        <source>%1 are needed in %2, but only %3 are free.</source>
        <translation>In %2 werden %1 gebraucht, aber nur %3 sind frei.</translation>
    </message>
    <message>
        <source>The copying was cancelled.</source>
        <translation>Das Kopieren wurde abgebrochen.</translation>
    </message>
    <message>
        <source>There is another file in the place of %1.</source>
        <translation>An der Stelle von %1 liegt eine andere Datei.</translation>
    </message>
    <message>
        <source>%1 cannot be read: %2</source>
        <translation>%1 kann nicht gelesen werden: %2</translation>
    </message>
    <message>
        <source>%1 cannot be written: %2</source>
        <translation>%1 kann nicht geschrieben werden: %2</translation>
    </message>
    <message>
        <source>%1 was copied wrongly: the disk may be damaged.</source>
        <translation>%1 wurde falsch kopiert: vielleicht ist der Datenträger beschädigt.</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::Download</name>
    <message>
        <source>Only addresses with http or https can be downloaded.</source>
        <translation>Nur Adressen mit http oder https lassen sich herunterladen.</translation>
    </message>
    <message>
        <source>There is not enough room on the disk.</source>
        <translation>Auf dem Datenträger ist nicht genug Platz.</translation>
    </message>
    <message>
        <source>%1 cannot be written: %2</source>
        <translation>%1 lässt sich nicht schreiben: %2</translation>
    </message>
    <message>
        <source>The server sent another part of the file than was asked for.</source>
        <translation>Der Server hat einen anderen Teil der Datei geschickt als verlangt.</translation>
    </message>
    <message>
        <source>The server&apos;s file has %1 bytes, expected were %2.</source>
        <translation>Die Datei des Servers hat %1 Bytes, erwartet waren %2.</translation>
    </message>
    <message>
        <source>The server sent more than the file&apos;s size.</source>
        <translation>Der Server hat mehr geschickt, als die Datei groß ist.</translation>
    </message>
    <message>
        <source>What was downloaded before does not fit the server&apos;s file.</source>
        <translation>Was schon heruntergeladen war, passt nicht zur Datei des Servers.</translation>
    </message>
    <message>
        <source>The download broke off: %1. It can go on from here.</source>
        <translation>Der Download ist abgebrochen: %1. Er kann von hier aus weitergehen.</translation>
    </message>
    <message>
        <source>The download broke off after %1 of %2 bytes. It can go on from here.</source>
        <translation>Der Download ist nach %1 von %2 Bytes abgebrochen. Er kann von hier aus weitergehen.</translation>
    </message>
    <message>
        <source>The file has %1 bytes, expected were %2.</source>
        <translation>Die Datei hat %1 Bytes, erwartet waren %2.</translation>
    </message>
    <message>
        <source>The file is not the one that was expected (its SHA-256 differs). It was removed.</source>
        <translation>Das ist nicht die erwartete Datei (ihre SHA-256-Prüfsumme weicht ab). Sie wurde gelöscht.</translation>
    </message>
    <message>
        <source>%1 cannot be written.</source>
        <translation>%1 lässt sich nicht schreiben.</translation>
    </message>
    <message>
        <source>The file on the server is no longer the same. The download must begin anew.</source>
        <translation>Die Datei auf dem Server ist nicht mehr dieselbe. Der Download muss von vorn beginnen.</translation>
    </message>
    <message>
        <source>The server does not say how long the file is: nobody could tell whether it is whole.</source>
        <translation>Der Server sagt nicht, wie lang die Datei ist: Niemand könnte erkennen, ob sie vollständig ist.</translation>
    </message>
    <message>
        <source>The server refused: %1 %2</source>
        <translation>Der Server hat abgelehnt: %1 %2</translation>
    </message>
    <message>
        <source>The disk is full. The download can go on from here when there is room.</source>
        <translation>Der Datenträger ist voll. Sobald Platz ist, kann der Download von hier weitergehen.</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::EngineText</name>
    <message>
        <source>A file cannot be read or written</source>
        <translation>Eine Datei lässt sich nicht lesen oder schreiben</translation>
    </message>
    <message>
        <source>The file is damaged or of another kind</source>
        <translation>Die Datei ist beschädigt oder von anderer Art</translation>
    </message>
    <message>
        <source>This version of Hokku cannot handle it</source>
        <translation>Diese Version von Hokku kommt damit nicht zurecht</translation>
    </message>
    <message>
        <source>A value is out of range</source>
        <translation>Ein Wert liegt außerhalb des Erlaubten</translation>
    </message>
    <message>
        <source>The chat template of the model does not work</source>
        <translation>Die Chat-Vorlage des Modells funktioniert nicht</translation>
    </message>
    <message>
        <source>A limit would be exceeded</source>
        <translation>Eine Grenze würde überschritten</translation>
    </message>
    <message>
        <source>There is not enough memory</source>
        <translation>Der Arbeitsspeicher reicht nicht</translation>
    </message>
    <message>
        <source>The model computes values that are no numbers</source>
        <translation>Das Modell errechnet Werte, die keine Zahlen sind</translation>
    </message>
    <message>
        <source>It was cancelled</source>
        <translation>Der Vorgang wurde abgebrochen</translation>
    </message>
    <message>
        <source>The device failed</source>
        <translation>Das Gerät ist ausgefallen</translation>
    </message>
    <message>
        <source>the model has no chat template: it continues text only</source>
        <translation>Das Modell hat keine Chat-Vorlage: Es führt nur Texte fort.</translation>
    </message>
    <message>
        <source>the model is larger than the memory that is free: it will be slow</source>
        <translation>Das Modell ist größer als der freie Speicher: Es wird langsam sein.</translation>
    </message>
    <message>
        <source>%1 threads were asked for; %2 are used, one for each CPU that this process may use</source>
        <translation>Verlangt waren %1 Threads; genutzt werden %2, einer für jeden verfügbaren Prozessorkern.</translation>
    </message>
    <message>
        <source>the model was trained for %1 tokens; the context is that long</source>
        <translation>Das Modell ist für %1 Token trainiert; so lang ist nun der Kontext.</translation>
    </message>
    <message>
        <source>the context is only %1 tokens long: %2 MiB of memory are available</source>
        <translation>Der Kontext ist nur %1 Token lang: %2 MiB Speicher sind frei.</translation>
    </message>
    <message>
        <source>this model&apos;s key biases reach %1: a q8_0 context costs it accuracy, f16 does not</source>
        <translation>Mit 8 Bit für das Gedächtnis schreibt dieses Modell ungenauer (seine Key-Biases reichen bis %1); mit 16 Bit nicht.</translation>
    </message>
    <message>
        <source>this model&apos;s key biases reach %1: a q4_0 context costs it much of its accuracy, f16 does not</source>
        <translation>Mit 4 Bit für das Gedächtnis schreibt dieses Modell viel schlechter (seine Key-Biases reichen bis %1); mit 16 Bit nicht.</translation>
    </message>
    <message numerus="yes">
        <source>%n threads</source>
        <comment>of a processor</comment>
        <translation>
            <numerusform>%n Thread</numerusform>
            <numerusform>%n Threads</numerusform>
        </translation>
    </message>
    <message>
        <source>A remark on the model: %1</source>
        <translation>Anmerkung zum Modell: %1</translation>
    </message>
    <message>
        <source>It is not a model file (GGUF)</source>
        <translation>Das ist keine Modelldatei (GGUF)</translation>
    </message>
    <message>
        <source>It is a web page, not a model: the download got something else</source>
        <translation>Das ist eine Webseite, kein Modell: Beim Herunterladen kam etwas anderes an</translation>
    </message>
    <message>
        <source>It only stands for a model (Git LFS), and must be downloaded itself</source>
        <translation>Das ist nur ein Verweis auf ein Modell (Git LFS); das Modell selbst muss noch heruntergeladen werden</translation>
    </message>
    <message>
        <source>Its format (GGML) is too old; GGUF took its place</source>
        <translation>Das Format (GGML) ist zu alt; an seine Stelle trat GGUF</translation>
    </message>
    <message>
        <source>The file is not whole: it ends too early, as after a download that broke off</source>
        <translation>Die Datei ist unvollständig: Sie endet zu früh, wie nach einem abgebrochenen Herunterladen</translation>
    </message>
    <message>
        <source>This version of Hokku does not know models of the kind “%1”</source>
        <translation>Modelle der Art „%1“ kennt diese Version von Hokku nicht</translation>
    </message>
    <message>
        <source>It has other tokens than the model; both must be of the same family</source>
        <translation>Es hat andere Tokens als das Modell; beide müssen aus derselben Familie sein</translation>
    </message>
    <message>
        <source>The file is no longer there</source>
        <translation>Die Datei ist nicht mehr da</translation>
    </message>
    <message>
        <source>The file is empty</source>
        <translation>Die Datei ist leer</translation>
    </message>
    <message>
        <source>You are not allowed to read the file</source>
        <translation>Die Datei darf nicht gelesen werden</translation>
    </message>
    <message>
        <source>There is not enough memory for so long a context; a shorter one may fit (Settings, Context)</source>
        <translation>Für einen so langen Kontext reicht der Speicher nicht; ein kürzerer passt vielleicht (Einstellungen, Kontext)</translation>
    </message>
    <message>
        <source>There is not enough memory for it: close other programs, or take a smaller model or a shorter context</source>
        <translation>Dafür reicht der Speicher nicht: Abhilfe schaffen weniger offene Programme, ein kleineres Modell oder ein kürzerer Kontext</translation>
    </message>
    <message>
        <source>GPUs are switched off (HOKKU_CUDA)</source>
        <translation>GPUs sind abgeschaltet (HOKKU_CUDA)</translation>
    </message>
    <message>
        <source>the part of Hokku for NVIDIA GPUs is not installed</source>
        <translation>der Teil von Hokku für NVIDIA-GPUs ist nicht installiert</translation>
    </message>
    <message>
        <source>the part of Hokku for GPUs is of another version</source>
        <translation>der Teil von Hokku für GPUs hat eine andere Version</translation>
    </message>
    <message>
        <source>GPUs cannot keep the conversation in 4 bits</source>
        <translation>GPUs können das Gespräch nicht mit 4 Bit behalten</translation>
    </message>
    <message>
        <source>Not on a GPU: %1</source>
        <translation>Nicht auf einer GPU: %1</translation>
    </message>
    <message>
        <source>the context cannot grow: the model goes up to %1 tokens</source>
        <translation>Der Kontext kann nicht wachsen: Das Modell reicht bis %1 Token.</translation>
    </message>
    <message>
        <source>the context cannot grow: %1 MiB of memory are available</source>
        <translation>Der Kontext kann nicht wachsen: Nur %1 MiB Speicher sind frei.</translation>
    </message>
    <message>
        <source>the draft model guesses only in the first %1 tokens, as long as its context is; that of the model has %2</source>
        <translation>Das Entwurfsmodell rät nur in den ersten %1 Token, so weit reicht sein Kontext; der des Modells hat %2.</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::Exchange</name>
    <message>
        <source>You</source>
        <translation>Ich</translation>
    </message>
    <message>
        <source>Reply</source>
        <translation>Antwort</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::HeaderBar</name>
    <message>
        <source>Show or hide the conversations</source>
        <translation>Unterhaltungen ein- oder ausblenden</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>Neuer Chat</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Loading the model</source>
        <translation>Das Modell wird geladen</translation>
    </message>
    <message>
        <source>Where the model runs, with which instructions and how many threads</source>
        <translation>Wo das Modell rechnet, mit welchem Befehlssatz und wie vielen Threads</translation>
    </message>
    <message>
        <source>Draft model: %1</source>
        <translation>Entwurfsmodell: %1</translation>
    </message>
    <message>
        <source>Device: %1</source>
        <translation>Gerät: %1</translation>
    </message>
    <message>
        <source>Loading…</source>
        <translation>Lädt&#xa0;…</translation>
    </message>
    <message>
        <source>Choose a model</source>
        <translation>Modell wählen</translation>
    </message>
    <message>
        <source>Model: %1</source>
        <translation>Modell: %1</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>Zurück</translation>
    </message>
    <message>
        <source>Back to the chat</source>
        <translation>Zurück zum Chat</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::MainWindow</name>
    <message>
        <source>The model writes without the draft model %1 (Settings, Draft model): %2</source>
        <translation>Das Modell schreibt ohne das Entwurfsmodell %1 (Einstellungen, Entwurfsmodell): %2</translation>
    </message>
    <message>
        <source>%1 cannot be loaded: %2</source>
        <translation>%1 lässt sich nicht laden: %2</translation>
    </message>
    <message>
        <source>Choose another</source>
        <translation>Anderes wählen</translation>
    </message>
    <message>
        <source>Deleted: %1</source>
        <translation>Gelöscht: %1</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>The model is being loaded</source>
        <translation>Das Modell wird geladen</translation>
    </message>
    <message>
        <source>Choose a model first</source>
        <translation>Zuerst ein Modell wählen</translation>
    </message>
    <message>
        <source>%1 is not a model (.gguf) and not a short text.</source>
        <translation>%1 ist weder ein Modell (.gguf) noch ein kurzer Text.</translation>
    </message>
    <message>
        <source>Temporary chat: it leaves no trace</source>
        <translation>Temporärer Chat: hinterlässt keine Spur</translation>
    </message>
    <message>
        <source>The preset %1 is no longer there; %2 is used.</source>
        <translation>Die Vorlage „%1“ gibt es nicht mehr; verwendet wird „%2“.</translation>
    </message>
    <message>
        <source>This conversation belongs to the model %1, whose file is no longer there. The model that is loaded goes on with it.</source>
        <translation>Zu dieser Unterhaltung gehört das Modell %1, dessen Datei es nicht mehr gibt. Das geladene Modell führt sie weiter.</translation>
    </message>
    <message>
        <source>This conversation belongs to the model %1.</source>
        <translation>Zu dieser Unterhaltung gehört das Modell %1.</translation>
    </message>
    <message>
        <source>Load it</source>
        <translation>Laden</translation>
    </message>
    <message>
        <source>No model was found. Add a model file, or download one.</source>
        <translation>Es wurde kein Modell gefunden. Es lässt sich eines hinzufügen oder herunterladen.</translation>
    </message>
    <message>
        <source>No model can be loaded: %1</source>
        <translation>Es kann kein Modell geladen werden: %1</translation>
    </message>
    <message>
        <source>The file of the settings was damaged. What could be read of it is used; the file is kept as %1.</source>
        <translation>Die Datei der Einstellungen war beschädigt. Was davon lesbar war, gilt weiter; die Datei bleibt als %1 erhalten.</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::ModelsPage</name>
    <message>
        <source>Models on this machine</source>
        <translation>Modelle auf diesem Rechner</translation>
    </message>
    <message>
        <source>Larger models write better and need more memory. Files of other programs are used where they lie; nothing is copied.</source>
        <translation>Größere Modelle schreiben besser und brauchen mehr Speicher. Dateien anderer Programme werden dort genutzt, wo sie liegen; nichts wird kopiert.</translation>
    </message>
    <message>
        <source>Add a file…</source>
        <translation>Datei hinzufügen&#xa0;…</translation>
    </message>
    <message>
        <source>Look again</source>
        <translation>Erneut suchen</translation>
    </message>
    <message>
        <source>Looks for models in the folders of LM Studio, GPT4All, Jan, Ollama and Hugging Face</source>
        <translation>Sucht nach Modellen in den Ordnern von LM Studio, GPT4All, Jan, Ollama und Hugging Face</translation>
    </message>
    <message>
        <source>Download a model</source>
        <translation>Modell herunterladen</translation>
    </message>
    <message>
        <source>Hokku connects to the network only here, and only when you press the button.</source>
        <translation>Nur hier verbindet sich Hokku mit dem Netz, und nur auf Knopfdruck.</translation>
    </message>
    <message>
        <source>Address of the file</source>
        <translation>Adresse der Datei</translation>
    </message>
    <message>
        <source>The address of a .gguf file</source>
        <translation>Die Adresse einer .gguf-Datei</translation>
    </message>
    <message>
        <source>optional</source>
        <translation>freiwillig</translation>
    </message>
    <message>
        <source>SHA-256 of the file</source>
        <translation>SHA-256-Prüfsumme der Datei</translation>
    </message>
    <message>
        <source>64 digits that the publisher gives; the file is checked against them</source>
        <translation>64 Stellen, die der Herausgeber nennt; die Datei wird damit geprüft</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>Adresse</translation>
    </message>
    <message>
        <source>SHA-256</source>
        <translation>SHA-256</translation>
    </message>
    <message>
        <source>Download</source>
        <translation>Herunterladen</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Progress of the download</source>
        <translation>Fortschritt des Downloads</translation>
    </message>
    <message>
        <source>Add models</source>
        <translation>Modelle hinzufügen</translation>
    </message>
    <message>
        <source>Models (*.gguf)</source>
        <translation>Modelle (*.gguf)</translation>
    </message>
    <message>
        <source>Came with Hokku</source>
        <translation>Lag Hokku bei</translation>
    </message>
    <message>
        <source>Library</source>
        <translation>Bibliothek</translation>
    </message>
    <message>
        <source>Added</source>
        <translation>Hinzugefügt</translation>
    </message>
    <message>
        <source>No model was found yet. Add a .gguf file, or download one below.</source>
        <translation>Noch wurde kein Modell gefunden. Eine .gguf-Datei hinzufügen oder unten eine herunterladen.</translation>
    </message>
    <message>
        <source>%1 million parameters</source>
        <translation>%1 Millionen Parameter</translation>
    </message>
    <message>
        <source>context up to %1</source>
        <translation>Kontext bis %1</translation>
    </message>
    <message>
        <source>Needs about %1 of memory for a context of %2 tokens; %3 are free.</source>
        <translation>Braucht etwa %1 Speicher für einen Kontext von %2 Token; %3 sind frei.</translation>
    </message>
    <message>
        <source>It would be slow or not load at all.</source>
        <translation>Es wäre langsam oder ließe sich gar nicht laden.</translation>
    </message>
    <message>
        <source>Cannot be used: %1</source>
        <translation>Nicht nutzbar: %1</translation>
    </message>
    <message>
        <source>In use</source>
        <translation>In Gebrauch</translation>
    </message>
    <message>
        <source>Use</source>
        <translation>Verwenden</translation>
    </message>
    <message>
        <source>Use %1</source>
        <translation>%1 verwenden</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>Delete %1</source>
        <translation>%1 löschen</translation>
    </message>
    <message>
        <source>Delete a model</source>
        <translation>Modell löschen</translation>
    </message>
    <message>
        <source>Delete %1 (%2) from the disk? This cannot be undone.</source>
        <translation>%1 (%2) vom Datenträger löschen? Das lässt sich nicht rückgängig machen.</translation>
    </message>
    <message>
        <source>%1 cannot be deleted: %2</source>
        <translation>%1 lässt sich nicht löschen: %2</translation>
    </message>
    <message>
        <source>Give the address of a .gguf file.</source>
        <translation>Bitte die Adresse einer .gguf-Datei angeben.</translation>
    </message>
    <message>
        <source>A SHA-256 has 64 digits.</source>
        <translation>Eine SHA-256-Prüfsumme hat 64 Stellen.</translation>
    </message>
    <message>
        <source>%1 was downloaded.</source>
        <translation>%1 wurde heruntergeladen.</translation>
    </message>
    <message>
        <source>Go on</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
    <message>
        <source> at %1/s</source>
        <translation> mit %1/s</translation>
    </message>
    <message numerus="yes">
        <source>, %n seconds left</source>
        <translation>
            <numerusform>, noch %n Sekunde</numerusform>
            <numerusform>, noch %n Sekunden</numerusform>
        </translation>
    </message>
    <message>
        <source>, paused</source>
        <translation>, angehalten</translation>
    </message>
    <message>
        <source>The file is being checked…</source>
        <translation>Die Datei wird geprüft …</translation>
    </message>
    <message>
        <source>%1 billion parameters</source>
        <translation>%1 Milliarden Parameter</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Remove %1 from the list</source>
        <translation>%1 aus der Liste entfernen</translation>
    </message>
    <message>
        <source>Takes it off this list; the file stays where it is</source>
        <translation>Nimmt es aus dieser Liste; die Datei bleibt, wo sie ist</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::NoticeBar</name>
    <message>
        <source>Dismiss</source>
        <translation>Schließen</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::Notifier</name>
    <message>
        <source>Show</source>
        <translation>Anzeigen</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::PresetButton</name>
    <message>
        <source>Edit presets…</source>
        <translation>Vorlagen bearbeiten&#xa0;…</translation>
    </message>
    <message>
        <source>Preset: %1</source>
        <translation>Vorlage: %1</translation>
    </message>
    <message>
        <source>How the replies of this conversation are written</source>
        <translation>Wie die Antworten in dieser Unterhaltung entstehen</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::PresetEditor</name>
    <message>
        <source>All sampling values</source>
        <translation>Alle Werte der Wortwahl</translation>
    </message>
    <message>
        <source>Every way to choose words that the engine knows, for experts</source>
        <translation>Alle Arten der Wortwahl, die es gibt, für Fachleute</translation>
    </message>
    <message>
        <source>Preset</source>
        <translation>Vorlage</translation>
    </message>
    <message>
        <source>Used for new chats; every chat can have another one</source>
        <translation>Gilt für neue Chats; jeder Chat kann eine andere haben</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>What the model is told before every conversation</source>
        <translation>Was dem Modell vor jeder Unterhaltung gesagt wird</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>The model that is loaded when the preset is chosen</source>
        <translation>Das Modell, das mit dieser Vorlage geladen wird</translation>
    </message>
    <message>
        <source>until it ends</source>
        <translation>bis sie endet</translation>
    </message>
    <message>
        <source>Longest reply</source>
        <translation>Längste Antwort</translation>
    </message>
    <message>
        <source>In tokens; most words are one or two</source>
        <translation>In Token; die meisten Wörter sind ein oder zwei</translation>
    </message>
    <message>
        <source>no limit</source>
        <translation>ohne Grenze</translation>
    </message>
    <message>
        <source>Longest thought</source>
        <translation>Längstes Nachdenken</translation>
    </message>
    <message>
        <source>For models that think before they answer, in tokens; then the answer begins. 0: no thoughts.</source>
        <translation>Für Modelle, die vor der Antwort nachdenken, in Token; danach beginnt die Antwort. 0: kein Nachdenken.</translation>
    </message>
    <message>
        <source>DRY breakers</source>
        <translation>DRY-Trenner</translation>
    </message>
    <message>
        <source>Texts across which no run reaches, separated by spaces; \n is a new line, \s a space</source>
        <translation>Texte, über die keine Folge hinausreicht, durch Leerzeichen getrennt; \n ist eine neue Zeile, \s ein Leerzeichen</translation>
    </message>
    <message>
        <source>Order</source>
        <translation>Reihenfolge</translation>
    </message>
    <message>
        <source>The order in which the values take effect. Drag a step, or move it with Alt and the arrow keys; a step without a tick does nothing.</source>
        <translation>In welcher Reihenfolge die Werte wirken. Schritte lassen sich ziehen oder mit Alt und den Pfeiltasten verschieben; ein Schritt ohne Haken wirkt nicht.</translation>
    </message>
    <message>
        <source>Save as…</source>
        <translation>Speichern unter&#xa0;…</translation>
    </message>
    <message>
        <source>Import…</source>
        <translation>Importieren&#xa0;…</translation>
    </message>
    <message>
        <source>Export…</source>
        <translation>Exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>any</source>
        <translation>beliebig</translation>
    </message>
    <message>
        <source>Save the preset</source>
        <translation>Vorlage speichern</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>Import a preset</source>
        <translation>Vorlage importieren</translation>
    </message>
    <message>
        <source>Presets (*.json)</source>
        <translation>Vorlagen (*.json)</translation>
    </message>
    <message>
        <source>Export the preset</source>
        <translation>Vorlage exportieren</translation>
    </message>
    <message>
        <source>%1 cannot be written: %2</source>
        <translation>%1 lässt sich nicht schreiben: %2</translation>
    </message>
    <message>
        <source>none</source>
        <translation>keine</translation>
    </message>
    <message>
        <source>Token bias</source>
        <translation>Token-Gewichte</translation>
    </message>
    <message>
        <source>Makes single tokens likelier or less likely, by their numbers in the model: 1234=-5 77=2. From -100, which forbids one, to 100.</source>
        <translation>Macht einzelne Token wahrscheinlicher oder unwahrscheinlicher, nach ihren Nummern im Modell: 1234=-5 77=2. Von -100, was eines verbietet, bis 100.</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::Presets</name>
    <message>
        <source>Standard</source>
        <translation>Standard</translation>
    </message>
    <message>
        <source>Precise</source>
        <translation>Genau</translation>
    </message>
    <message>
        <source>Verse</source>
        <translation>Verse</translation>
    </message>
    <message>
        <source>You are a poet of short forms. Answer with the poem alone, in as few words as it needs.</source>
        <translation>Du dichtest in kurzen Formen. Antworte nur mit dem Gedicht, in so wenigen Worten, wie es braucht.</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::ReplyDetails</name>
    <message>
        <source>ended by itself</source>
        <translation>von selbst beendet</translation>
    </message>
    <message>
        <source>ended by a stop text</source>
        <translation>an einem Stopptext beendet</translation>
    </message>
    <message>
        <source>cut at the longest length</source>
        <translation>an der Längengrenze abgeschnitten</translation>
    </message>
    <message>
        <source>cut, the context is full</source>
        <translation>abgeschnitten, der Kontext ist voll</translation>
    </message>
    <message>
        <source>stopped</source>
        <translation>angehalten</translation>
    </message>
    <message numerus="yes">
        <source>%Ln tokens</source>
        <translation>
            <numerusform>%Ln Token</numerusform>
            <numerusform>%Ln Token</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 tok/s</source>
        <translation>%1 Token/s</translation>
    </message>
    <message>
        <source>first token after %1 s</source>
        <translation>erstes Token nach %1 s</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::ReplyWatch</name>
    <message>
        <source>The reply failed</source>
        <translation>Die Antwort ist gescheitert</translation>
    </message>
    <message>
        <source>The reply is finished</source>
        <translation>Die Antwort ist fertig</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::SamplingFields</name>
    <message>
        <source>Temperature</source>
        <translation>Temperatur</translation>
    </message>
    <message>
        <source>How daring the words are. 0 always takes the most likely one; 1 keeps the model&apos;s own odds; higher is wilder.</source>
        <translation>Wie gewagt die Wörter sind. 0 nimmt stets das wahrscheinlichste; 1 lässt dem Modell seine eigenen Gewichte; darüber wird es wilder.</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>The most likely words that together have this share of the odds are considered. 1: all.</source>
        <translation>Die wahrscheinlichsten Wörter, die zusammen diesen Anteil der Wahrscheinlichkeit haben, kommen in Frage. 1: alle.</translation>
    </message>
    <message>
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Repeat penalty</source>
        <translation>Wiederholungsstrafe</translation>
    </message>
    <message>
        <source>Makes words that were just used less likely. 1: off; 1.1 keeps small models from going in circles.</source>
        <translation>Macht eben benutzte Wörter unwahrscheinlicher. 1: aus; 1,1 bewahrt kleine Modelle davor, sich im Kreis zu drehen.</translation>
    </message>
    <message>
        <source>Repeat window</source>
        <translation>Wiederholungsfenster</translation>
    </message>
    <message>
        <source>Frequency penalty</source>
        <translation>Häufigkeitsstrafe</translation>
    </message>
    <message>
        <source>Makes a word less likely each time it was used. 0: off.</source>
        <translation>Macht ein Wort mit jedem Gebrauch unwahrscheinlicher. 0: aus.</translation>
    </message>
    <message>
        <source>Presence penalty</source>
        <translation>Vorkommensstrafe</translation>
    </message>
    <message>
        <source>Makes a word less likely once it was used at all. 0: off.</source>
        <translation>Macht ein Wort unwahrscheinlicher, sobald es überhaupt vorkam. 0: aus.</translation>
    </message>
    <message>
        <source>Only this many of the most likely words are considered.</source>
        <translation>Nur so viele der wahrscheinlichsten Wörter kommen in Frage.</translation>
    </message>
    <message>
        <source>off</source>
        <translation>aus</translation>
    </message>
    <message>
        <source>Words less likely than this share of the best one are left out.</source>
        <translation>Wörter, die nicht einmal diesen Anteil des besten erreichen, fallen weg.</translation>
    </message>
    <message>
        <source>Typical</source>
        <translation>Typisch</translation>
    </message>
    <message>
        <source>Keeps the words that are about as surprising as one expects here, up to this share of the odds: neither the obvious nor the odd ones. 1: all.</source>
        <translation>Behält Wörter, die etwa so überraschend sind, wie hier zu erwarten ist, bis zu diesem Anteil der Wahrscheinlichkeit: weder die naheliegenden noch die abwegigen. 1: alle.</translation>
    </message>
    <message>
        <source>Top-n-sigma</source>
        <translation>Top-n-Sigma</translation>
    </message>
    <message>
        <source>Keeps words whose raw score is within this many standard deviations of the best one. Unlike the others it does not depend on the temperature.</source>
        <translation>Behält Wörter, deren Rohwert höchstens so viele Standardabweichungen unter dem besten liegt. Anders als die übrigen hängt das nicht von der Temperatur ab.</translation>
    </message>
    <message>
        <source>How many words back a repetition counts for this and the next two. 0: off.</source>
        <translation>Wie viele Wörter zurück eine Wiederholung zählt, hier und bei den beiden nächsten. 0: aus.</translation>
    </message>
    <message>
        <source>the whole text</source>
        <translation>im ganzen Text</translation>
    </message>
    <message>
        <source>DRY strength</source>
        <translation>DRY-Stärke</translation>
    </message>
    <message>
        <source>“Don’t repeat yourself”: keeps the model from writing the same run of words again. 0.8 is usual.</source>
        <translation>„Don’t repeat yourself“: bewahrt das Modell davor, dieselbe Wortfolge noch einmal zu schreiben. Üblich ist 0,8.</translation>
    </message>
    <message>
        <source>DRY growth</source>
        <translation>DRY-Zuwachs</translation>
    </message>
    <message>
        <source>How much harder it gets with each further word of the run.</source>
        <translation>Wie viel schwerer es mit jedem weiteren Wort der Folge wird.</translation>
    </message>
    <message>
        <source>DRY free length</source>
        <translation>DRY-Freilänge</translation>
    </message>
    <message>
        <source>Runs up to this many words may come again.</source>
        <translation>Folgen bis zu dieser Länge dürfen wiederkommen.</translation>
    </message>
    <message>
        <source>DRY window</source>
        <translation>DRY-Fenster</translation>
    </message>
    <message>
        <source>How many words back runs are looked for. 0: off.</source>
        <translation>Wie viele Wörter zurück nach Folgen gesucht wird. 0: aus.</translation>
    </message>
    <message>
        <source>Temperature range</source>
        <translation>Temperaturspanne</translation>
    </message>
    <message>
        <source>The temperature goes up and down by this much: lower where the model is sure, higher where many words would do.</source>
        <translation>Um so viel schwankt die Temperatur: tiefer, wo das Modell sicher ist, höher, wo viele Wörter passen.</translation>
    </message>
    <message>
        <source>Range exponent</source>
        <translation>Spannenexponent</translation>
    </message>
    <message>
        <source>How the temperature follows how unsure the model is. 1: evenly.</source>
        <translation>Wie die Temperatur der Unsicherheit des Modells folgt. 1: gleichmäßig.</translation>
    </message>
    <message>
        <source>XTC probability</source>
        <translation>XTC-Häufigkeit</translation>
    </message>
    <message>
        <source>“Exclude top choices”: how often the most likely words are left out where others would do as well. Less expected, still sensible.</source>
        <translation>„Exclude top choices“: wie oft die wahrscheinlichsten Wörter wegfallen, wo andere ebenso passen. Weniger erwartbar, aber sinnvoll.</translation>
    </message>
    <message>
        <source>XTC threshold</source>
        <translation>XTC-Schwelle</translation>
    </message>
    <message>
        <source>The odds from which a word counts as a top choice. Above 0.5: none does.</source>
        <translation>Ab welcher Wahrscheinlichkeit ein Wort zu den ersten zählt. Über 0,5: keines.</translation>
    </message>
    <message>
        <source>Version</source>
        <translation>Version</translation>
    </message>
    <message>
        <source>Mirostat keeps the text evenly surprising, in place of the values of “Words to choose from” and XTC. 1 or 2; 2 is the simpler one.</source>
        <translation>Mirostat hält den Text gleichmäßig überraschend, anstelle der Werte unter „Wörter zur Wahl“ und XTC. 1 oder 2; 2 ist die einfachere.</translation>
    </message>
    <message>
        <source>Surprise</source>
        <translation>Überraschung</translation>
    </message>
    <message>
        <source>How surprising, in bits a word. Low: focused; high: varied.</source>
        <translation>Wie überraschend, in Bit je Wort. Niedrig: straff; hoch: abwechslungsreich.</translation>
    </message>
    <message>
        <source>Learning rate</source>
        <translation>Lernrate</translation>
    </message>
    <message>
        <source>How fast it corrects itself.</source>
        <translation>Wie schnell es sich korrigiert.</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>Startwert</translation>
    </message>
    <message>
        <source>The same seed, message and model give the same reply again.</source>
        <translation>Gleicher Startwert, gleiche Nachricht und gleiches Modell geben wieder dieselbe Antwort.</translation>
    </message>
    <message>
        <source>at random</source>
        <translation>zufällig</translation>
    </message>
    <message>
        <source>Words to choose from</source>
        <translation>Wörter zur Wahl</translation>
    </message>
    <message>
        <source>Repetition</source>
        <translation>Wiederholung</translation>
    </message>
    <message>
        <source>Variety</source>
        <translation>Abwechslung</translation>
    </message>
    <message>
        <source>Mirostat</source>
        <translation>Mirostat</translation>
    </message>
    <message>
        <source>Order and chance</source>
        <translation>Reihenfolge und Zufall</translation>
    </message>
    <message>
        <source>Penalties of repetition</source>
        <translation>Wiederholungsstrafen</translation>
    </message>
    <message>
        <source>DRY</source>
        <translation>DRY</translation>
    </message>
    <message>
        <source>XTC</source>
        <translation>XTC</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::SettingsPage</name>
    <message>
        <source>Appearance</source>
        <translation>Aussehen</translation>
    </message>
    <message>
        <source>As the system</source>
        <translation>Wie das System</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>Farben</translation>
    </message>
    <message>
        <source>Light or dark, or what the desktop uses</source>
        <translation>Hell oder dunkel, oder wie es die Arbeitsfläche vorgibt</translation>
    </message>
    <message>
        <source> %</source>
        <translation> %</translation>
    </message>
    <message>
        <source>Text size</source>
        <translation>Textgröße</translation>
    </message>
    <message>
        <source>Of everything in the window</source>
        <translation>Für alles im Fenster</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>Sprache</translation>
    </message>
    <message>
        <source>Of the app; models answer in the language you write</source>
        <translation>Die der App; Modelle antworten in der Sprache, in der sie gefragt werden</translation>
    </message>
    <message>
        <source>How replies are written</source>
        <translation>Wie Antworten entstehen</translation>
    </message>
    <message>
        <source>A preset is a system prompt with sampling values. Changes hold for the next replies; save them under a name to keep them.</source>
        <translation>Eine Vorlage ist ein Systemprompt mit Werten für die Wortwahl. Änderungen gelten für die nächsten Antworten; unter einem Namen gespeichert bleiben sie erhalten.</translation>
    </message>
    <message>
        <source>Engine</source>
        <translation>Ausführung</translation>
    </message>
    <message>
        <source>Changes here load the model anew.</source>
        <translation>Änderungen hier laden das Modell neu.</translation>
    </message>
    <message>
        <source>automatic</source>
        <translation>automatisch</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>Kontext</translation>
    </message>
    <message>
        <source>How many tokens of a conversation the model can see; more takes more memory</source>
        <translation>Wie viele Token einer Unterhaltung das Modell sehen kann; mehr braucht mehr Speicher</translation>
    </message>
    <message>
        <source>Threads</source>
        <translation>Threads</translation>
    </message>
    <message>
        <source>How many processor cores write; automatic: all fast ones</source>
        <translation>Wie viele Prozessorkerne rechnen; automatisch: alle schnellen</translation>
    </message>
    <message>
        <source>32-bit: exact</source>
        <translation>32 Bit: genau</translation>
    </message>
    <message>
        <source>16-bit: half the memory</source>
        <translation>16 Bit: halber Speicher</translation>
    </message>
    <message>
        <source>8-bit: a quarter of the memory</source>
        <translation>8 Bit: ein Viertel des Speichers</translation>
    </message>
    <message>
        <source>4-bit: an eighth of the memory, less accurate</source>
        <translation>4 Bit: ein Achtel des Speichers, ungenauer</translation>
    </message>
    <message>
        <source>Memory of the conversation</source>
        <translation>Gedächtnis</translation>
    </message>
    <message>
        <source>How precisely the model keeps what it has read (its key-value cache)</source>
        <translation>Wie genau das Modell behält, was es gelesen hat (sein Key-Value-Cache)</translation>
    </message>
    <message>
        <source>Choose a draft model</source>
        <translation>Ein Entwurfsmodell wählen</translation>
    </message>
    <message>
        <source>Models (*.gguf)</source>
        <translation>Modelle (*.gguf)</translation>
    </message>
    <message>
        <source>Draft model</source>
        <translation>Entwurfsmodell</translation>
    </message>
    <message>
        <source>A much smaller model of the same family that guesses what the model writes next: the replies are the same, and often come sooner</source>
        <translation>Ein viel kleineres Modell derselben Familie, das rät, was das Modell als Nächstes schreibt: Die Antworten bleiben gleich und kommen oft früher</translation>
    </message>
    <message>
        <source>none</source>
        <translation>keines</translation>
    </message>
    <message>
        <source>Choose a file…</source>
        <translation>Datei wählen…</translation>
    </message>
    <message>
        <source>Read models in place from the disk</source>
        <translation>Modelle direkt vom Datenträger lesen</translation>
    </message>
    <message>
        <source>Faster to load, and the memory is shared. Switch it off for models on slow or network disks.</source>
        <translation>Lädt schneller, und der Speicher wird geteilt. Ausschalten, wenn Modelle auf langsamen oder Netzlaufwerken liegen.</translation>
    </message>
    <message>
        <source>Storage</source>
        <translation>Ablage</translation>
    </message>
    <message>
        <source>Conversations, presets and models are kept on this machine only, in %1</source>
        <translation>Unterhaltungen, Vorlagen und Modelle liegen nur auf diesem Rechner, in %1</translation>
    </message>
    <message>
        <source>Portable mode: everything lies beside the program.</source>
        <translation>Portabler Modus: Alles liegt neben dem Programm.</translation>
    </message>
    <message>
        <source>Open the folder</source>
        <translation>Ordner öffnen</translation>
    </message>
    <message>
        <source>Stop and ask me</source>
        <translation>Anhalten und fragen</translation>
    </message>
    <message>
        <source>Leave out the oldest turns</source>
        <translation>Älteste Beiträge weglassen</translation>
    </message>
    <message>
        <source>Summarise the oldest turns</source>
        <translation>Älteste Beiträge zusammenfassen</translation>
    </message>
    <message>
        <source>Enlarge it if the memory allows</source>
        <translation>Vergrößern, wenn der Speicher reicht</translation>
    </message>
    <message>
        <source>When the context is full</source>
        <translation>Bei vollem Kontext</translation>
    </message>
    <message>
        <source>What happens when a conversation is longer than the model can read; the chat says what was done</source>
        <translation>Was geschieht, wenn eine Unterhaltung länger ist, als das Modell lesen kann; im Chat steht, was getan wurde</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Unterhaltungen</translation>
    </message>
    <message>
        <source>Stay in the tray when the window is closed</source>
        <translation>Nach dem Schließen im Infobereich bleiben</translation>
    </message>
    <message>
        <source>Replies go on, and the model stays loaded, until Hokku is quit</source>
        <translation>Antworten laufen weiter, und das Modell bleibt geladen, bis Hokku beendet wird</translation>
    </message>
    <message>
        <source>Tell me when a long reply has ended</source>
        <translation>Melden, wenn eine lange Antwort fertig ist</translation>
    </message>
    <message>
        <source>By a notification of the desktop, while you are elsewhere</source>
        <translation>Durch eine Benachrichtigung, während Hokku im Hintergrund liegt</translation>
    </message>
    <message>
        <source>In the file manager</source>
        <translation>In der Dateiverwaltung</translation>
    </message>
    <message>
        <source>Keep it elsewhere…</source>
        <translation>Woanders aufbewahren …</translation>
    </message>
    <message>
        <source>Choose an empty folder, and everything is copied there at the next start; or one where Hokku kept conversations before, and those are used</source>
        <translation>Ein leerer Ordner: alles wird beim nächsten Start dorthin kopiert. Ein Ordner, in dem Hokku schon Unterhaltungen hatte: diese werden verwendet</translation>
    </message>
    <message>
        <source>A folder for conversations, presets and models</source>
        <translation>Ein Ordner für Unterhaltungen, Vorgaben und Modelle</translation>
    </message>
    <message>
        <source>HOKKU_HOME names this folder.</source>
        <translation>Diesen Ordner nennt HOKKU_HOME.</translation>
    </message>
    <message>
        <source>From the next start: %1, with the conversations that lie there. Those of today stay where they are.</source>
        <translation>Ab dem nächsten Start: %1, mit den Unterhaltungen, die dort liegen. Die jetzigen bleiben, wo sie sind.</translation>
    </message>
    <message>
        <source>At the next start everything is copied to %1 and checked, and is used from there. What lies here stays until you delete it.</source>
        <translation>Beim nächsten Start wird alles nach %1 kopiert, geprüft und von da an dort verwendet. Was hier liegt, bleibt, bis es gelöscht wird.</translation>
    </message>
    <message>
        <source>Leave it where it is</source>
        <translation>Hier lassen</translation>
    </message>
    <message>
        <source>Nothing is copied at the next start</source>
        <translation>Beim nächsten Start wird nichts kopiert</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::Sidebar</name>
    <message>
        <source>Conversations appear here.</source>
        <translation>Hier erscheinen die Unterhaltungen.</translation>
    </message>
    <message>
        <source>Search conversations</source>
        <translation>Unterhaltungen suchen</translation>
    </message>
    <message>
        <source>Search titles and messages (%1)</source>
        <translation>Titel und Nachrichten durchsuchen (%1)</translation>
    </message>
    <message>
        <source>More about conversations</source>
        <translation>Mehr zu den Unterhaltungen</translation>
    </message>
    <message>
        <source>Temporary chat, import</source>
        <translation>Temporärer Chat, Import</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Unterhaltungen</translation>
    </message>
    <message>
        <source>Search results</source>
        <translation>Suchergebnisse</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>Neuer Chat</translation>
    </message>
    <message>
        <source>New temporary chat</source>
        <translation>Neuer temporärer Chat</translation>
    </message>
    <message>
        <source>Import…</source>
        <translation>Importieren&#xa0;…</translation>
    </message>
    <message>
        <source>Nothing was found for “%1”.</source>
        <translation>Zu „%1“ wurde nichts gefunden.</translation>
    </message>
    <message>
        <source>Rename…</source>
        <translation>Umbenennen&#xa0;…</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>Loslösen</translation>
    </message>
    <message>
        <source>Pin</source>
        <translation>Anheften</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>Move to folder</source>
        <translation>In Ordner verschieben</translation>
    </message>
    <message>
        <source>New folder…</source>
        <translation>Neuer Ordner&#xa0;…</translation>
    </message>
    <message>
        <source>New folder</source>
        <translation>Neuer Ordner</translation>
    </message>
    <message>
        <source>Name of the folder</source>
        <translation>Name des Ordners</translation>
    </message>
    <message>
        <source>No folder</source>
        <translation>Kein Ordner</translation>
    </message>
    <message>
        <source>Export</source>
        <translation>Exportieren</translation>
    </message>
    <message>
        <source>Markdown…</source>
        <translation>Markdown&#xa0;…</translation>
    </message>
    <message>
        <source>Plain text…</source>
        <translation>Reiner Text&#xa0;…</translation>
    </message>
    <message>
        <source>JSON, with all versions…</source>
        <translation>JSON, mit allen Fassungen&#xa0;…</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>Umbenennen</translation>
    </message>
    <message>
        <source>Title of the conversation</source>
        <translation>Titel der Unterhaltung</translation>
    </message>
    <message>
        <source>%1 cannot be written: %2</source>
        <translation>%1 lässt sich nicht schreiben: %2</translation>
    </message>
    <message>
        <source>Import</source>
        <translation>Importieren</translation>
    </message>
    <message>
        <source>Conversations (*.json *.md *.txt)</source>
        <translation>Unterhaltungen (*.json *.md *.txt)</translation>
    </message>
    <message>
        <source>%1 cannot be read: %2</source>
        <translation>%1 lässt sich nicht lesen: %2</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::StartDialogs</name>
    <message>
        <source>Copying your conversations and models to %1</source>
        <translation>Unterhaltungen und Modelle werden nach %1 kopiert</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>The folder with your conversations is not there: %1</source>
        <translation>Der Ordner mit den Unterhaltungen ist nicht da: %1</translation>
    </message>
    <message>
        <source>If it lies on another disk, connect that. The usual folder has none of the conversations that were written since it was left.</source>
        <translation>Wenn er auf einem anderen Datenträger liegt, bitte diesen anschließen. Im üblichen Ordner fehlen die Unterhaltungen, die seit dem Umzug geschrieben wurden.</translation>
    </message>
    <message>
        <source>Look again</source>
        <translation>Noch einmal suchen</translation>
    </message>
    <message>
        <source>Use the usual folder</source>
        <translation>Den üblichen Ordner verwenden</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>Beenden</translation>
    </message>
    <message>
        <source>%1

Everything stays where it was, in %2</source>
        <translation>%1

Alles bleibt, wo es war, in %2</translation>
    </message>
    <message>
        <source>Hokku is running already, but does not answer. Please end it first.</source>
        <translation>Hokku läuft schon, antwortet aber nicht. Bitte zuerst beenden.</translation>
    </message>
    <message>
        <source>Hokku was started to keep everything beside its program, but the folder %1 cannot be made. Copy the program to a folder that can be written, or start it without --portable and portable.ini.</source>
        <translation>Hokku soll alles neben dem Programm ablegen, aber der Ordner %1 lässt sich nicht anlegen. Bitte das Programm in einen beschreibbaren Ordner kopieren, oder ohne --portable und portable.ini starten.</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::TranscriptBrowser</name>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copy as Markdown</source>
        <translation>Als Markdown kopieren</translation>
    </message>
    <message>
        <source>Copy the link</source>
        <translation>Link kopieren</translation>
    </message>
    <message>
        <source>Select all</source>
        <translation>Alles auswählen</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::TranscriptDocument</name>
    <message>
        <source>The reply failed.</source>
        <translation>Die Antwort ist gescheitert.</translation>
    </message>
    <message>
        <source>The reply failed: %1</source>
        <translation>Die Antwort ist gescheitert: %1</translation>
    </message>
    <message>
        <source>Stopped before the end.</source>
        <translation>Vor dem Ende angehalten.</translation>
    </message>
    <message>
        <source>Cut off before the end.</source>
        <translation>Vor dem Ende abgeschnitten.</translation>
    </message>
    <message>
        <source>Thinking…</source>
        <translation>Denkt nach&#xa0;…</translation>
    </message>
    <message>
        <source>Thought</source>
        <translation>Nachgedacht</translation>
    </message>
    <message>
        <source>Thought for %1 s</source>
        <translation>%1 s lang nachgedacht</translation>
    </message>
    <message>
        <source>Thought for %1 min %2 s</source>
        <translation>%1 min %2 s lang nachgedacht</translation>
    </message>
    <message>
        <source>You:</source>
        <translation>Ich:</translation>
    </message>
    <message>
        <source>Reply:</source>
        <translation>Antwort:</translation>
    </message>
    <message>
        <source>Instructions:</source>
        <translation>Anweisungen:</translation>
    </message>
    <message>
        <source>Note:</source>
        <translation>Hinweis:</translation>
    </message>
    <message>
        <source>The summary: %1</source>
        <translation>Die Zusammenfassung: %1</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::Tray</name>
    <message>
        <source>Show Hokku</source>
        <translation>Hokku zeigen</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>Neuer Chat</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>Beenden</translation>
    </message>
</context>
<context>
    <name>hokku::desktop::TurnActions</name>
    <message>
        <source>%1 / %2</source>
        <translation>%1 / %2</translation>
    </message>
    <message>
        <source>Version %1 of %2</source>
        <translation>Fassung %1 von %2</translation>
    </message>
    <message>
        <source>Previous version</source>
        <translation>Vorherige Fassung</translation>
    </message>
    <message>
        <source>Next version</source>
        <translation>Nächste Fassung</translation>
    </message>
    <message>
        <source>Copy this reply</source>
        <translation>Diese Antwort kopieren</translation>
    </message>
    <message>
        <source>Copy this message</source>
        <translation>Diese Nachricht kopieren</translation>
    </message>
    <message>
        <source>Edit this reply</source>
        <translation>Diese Antwort bearbeiten</translation>
    </message>
    <message>
        <source>Edit this message</source>
        <translation>Diese Nachricht bearbeiten</translation>
    </message>
    <message>
        <source>Write this reply anew</source>
        <translation>Diese Antwort neu schreiben</translation>
    </message>
    <message>
        <source>Go on with this reply</source>
        <translation>Diese Antwort fortsetzen</translation>
    </message>
    <message>
        <source>Details of this reply</source>
        <translation>Einzelheiten zu dieser Antwort</translation>
    </message>
    <message>
        <source>Delete this reply</source>
        <translation>Diese Antwort löschen</translation>
    </message>
    <message>
        <source>Delete this message</source>
        <translation>Diese Nachricht löschen</translation>
    </message>
</context>
<context>
    <name>main</name>
    <message>
        <source>Private, offline chat and drafting</source>
        <translation>Vertraulich chatten und schreiben, ohne Netz</translation>
    </message>
    <message>
        <source>Keep everything in a folder beside the program</source>
        <translation>Alles in einem Ordner neben dem Programm ablegen</translation>
    </message>
    <message>
        <source>Load the model, write, stop, and end with 0 if all works</source>
        <translation>Modell laden, schreiben, anhalten und mit 0 enden, wenn alles geht</translation>
    </message>
    <message>
        <source>A model (.gguf) to load</source>
        <translation>Ein Modell (.gguf), das geladen wird</translation>
    </message>
</context>
</TS>
